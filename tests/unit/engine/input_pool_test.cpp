#include <gtest/gtest.h>
#include <engine/input_pool.hpp>
#include <vector>

namespace framewire::engine {
namespace {

// Blocks of ordinary memory, counted.
class InputPoolTest : public ::testing::Test {
 protected:
  Result<InputSlice> block(std::size_t bytes) {
    if (exhausted_) return fail(StatusCode::kBusy, "no memory");
    ++made_;
    auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes + 100);
    blocks_.push_back(memory);
    return InputSlice{*memory, memory};
  }
  [[nodiscard]] int alive() const {
    int count = 0;
    for (const auto& one : blocks_) count += one.expired() ? 0 : 1;
    return count;
  }

  bool exhausted_ = false;
  int made_ = 0;
  std::vector<std::weak_ptr<std::vector<std::uint8_t>>> blocks_;
  InputPool pool_{[this](std::size_t bytes) { return block(bytes); }};
};

TEST_F(InputPoolTest, SlicesLieSideBySideAndKeepTheirBlock) {
  auto first = pool_.take(1000).value();
  const auto second = pool_.take(3).value();
  EXPECT_EQ(first.bytes.data() + 1000, second.bytes.data());
  EXPECT_EQ(second.bytes.size(), 3U);
  EXPECT_TRUE(pool_.take(0).value().bytes.empty());
  EXPECT_EQ(made_, 1);

  const auto large = pool_.take(InputPool::kBlockBytes - 500).value();  // begins another block
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(alive(), 2);
  first = {};
  EXPECT_EQ(alive(), 2);  // the second slice is still there
  large.bytes.back() = 7;
}

TEST_F(InputPoolTest, ABlockGoesWithItsLastSlice) {
  {
    const auto one = pool_.take(InputPool::kBlockBytes / 2 + 100).value();
    const auto other = pool_.take(InputPool::kBlockBytes / 2 + 100).value();
    EXPECT_EQ(alive(), 2);
  }
  EXPECT_EQ(alive(), 1);  // the one that slices are taken of
}

TEST_F(InputPoolTest, WhatIsLargerThanABlockHasItsOwn) {
  const auto small = pool_.take(10).value();
  const auto large = pool_.take(InputPool::kBlockBytes + 1).value();
  EXPECT_EQ(large.bytes.size(), InputPool::kBlockBytes + 1);
  EXPECT_EQ(pool_.take(10).value().bytes.data(), small.bytes.data() + 10);
  EXPECT_EQ(made_, 2);
}

TEST_F(InputPoolTest, WithoutMemoryItSaysSoAndGoesOnLater) {
  exhausted_ = true;
  EXPECT_EQ(pool_.take(10).error().code(), StatusCode::kBusy);
  EXPECT_EQ(pool_.take(InputPool::kBlockBytes + 1).error().code(), StatusCode::kBusy);
  exhausted_ = false;
  EXPECT_EQ(pool_.take(10).value().bytes.size(), 10U);
}

}  // namespace
}  // namespace framewire::engine
