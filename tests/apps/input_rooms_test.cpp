#include <gtest/gtest.h>
#include <backend/input_rooms.hpp>
#include <vector>

namespace framewire::app {
namespace {

// Blocks of ordinary memory, counted.
class InputRoomsTest : public ::testing::Test {
 protected:
  Result<KeptBytes> block(std::size_t bytes) {
    if (exhausted_) return fail(StatusCode::kBusy, "no memory");
    ++made_;
    auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes + 100);
    blocks_.push_back(memory);
    return KeptBytes{*memory, memory};
  }
  [[nodiscard]] int alive() const {
    int count = 0;
    for (const auto& one : blocks_) count += one.expired() ? 0 : 1;
    return count;
  }

  bool exhausted_ = false;
  int made_ = 0;
  std::vector<std::weak_ptr<std::vector<std::uint8_t>>> blocks_;
  InputRooms rooms_{[this](std::size_t bytes) { return block(bytes); }};
};

TEST_F(InputRoomsTest, RoomsLieSideBySideAndKeepTheirBlock) {
  auto first = rooms_.take(1000).value();
  const auto second = rooms_.take(3).value();
  EXPECT_EQ(first.bytes.data() + 1000, second.bytes.data());
  EXPECT_EQ(second.bytes.size(), 3U);
  EXPECT_TRUE(rooms_.take(0).value().bytes.empty());
  EXPECT_EQ(made_, 1);

  const auto large = rooms_.take(InputRooms::kBlockBytes - 500).value();  // begins another block
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(alive(), 2);
  first = {};
  EXPECT_EQ(alive(), 2);  // the second room is still there
  large.bytes.back() = 7;
}

TEST_F(InputRoomsTest, ABlockGoesWithItsLastRoom) {
  {
    const auto one = rooms_.take(InputRooms::kBlockBytes / 2 + 100).value();
    const auto other = rooms_.take(InputRooms::kBlockBytes / 2 + 100).value();
    EXPECT_EQ(alive(), 2);
  }
  EXPECT_EQ(alive(), 1);  // the one that rooms are taken of
}

TEST_F(InputRoomsTest, WhatIsLargerThanABlockHasItsOwn) {
  const auto small = rooms_.take(10).value();
  const auto large = rooms_.take(InputRooms::kBlockBytes + 1).value();
  EXPECT_EQ(large.bytes.size(), InputRooms::kBlockBytes + 1);
  EXPECT_EQ(rooms_.take(10).value().bytes.data(), small.bytes.data() + 10);
  EXPECT_EQ(made_, 2);
}

TEST_F(InputRoomsTest, WithoutMemoryItSaysSoAndGoesOnLater) {
  exhausted_ = true;
  EXPECT_EQ(rooms_.take(10).error().code(), StatusCode::kBusy);
  EXPECT_EQ(rooms_.take(InputRooms::kBlockBytes + 1).error().code(), StatusCode::kBusy);
  exhausted_ = false;
  EXPECT_EQ(rooms_.take(10).value().bytes.size(), 10U);
}

}  // namespace
}  // namespace framewire::app
