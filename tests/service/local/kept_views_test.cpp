// Views that a client keeps: room in bytes is all that they take.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <service/local/output_allocator.hpp>
#include <tests/service/local/local_server_fixture.hpp>

namespace framewire::service::local::test {
namespace {

TEST(OutputAllocator, PiecesNeverOverlapAndAllOfItComesBack) {
  constexpr std::uint64_t kUnits = 150;  // no whole words
  constexpr std::uint64_t kArea = kUnits * OutputAllocator::kUnitBytes;
  OutputAllocator area(kArea);
  std::mt19937 random(1);
  std::map<std::uint64_t, std::uint64_t> given;
  std::uint64_t given_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = random() % (random() % 8 == 0 ? kArea / 2 : 20'000);
      const auto offset = area.take(bytes);
      const std::uint64_t room = OutputAllocator::rounded(std::max<std::uint64_t>(bytes, 1));
      if (!offset) {
        // No gap between two pieces is large enough.
        std::uint64_t end = 0;
        for (const auto& [at, taken] : given) {
          ASSERT_LT(at - end, room);
          end = at + taken;
        }
        ASSERT_LT(kArea - end, room);
        continue;
      }
      ASSERT_LE(*offset + room, kArea);
      const auto behind = given.lower_bound(*offset);
      if (behind != given.end()) {
        ASSERT_LE(*offset + room, behind->first);
      }
      if (behind != given.begin()) {
        const auto before = std::prev(behind);
        ASSERT_LE(before->first + before->second, *offset);
      }
      given[*offset] = room;
      given_bytes += room;
    } else if (!given.empty()) {
      const auto piece = std::next(given.begin(), static_cast<long>(random() % given.size()));
      if (random() % 2 == 0) {
        ASSERT_FALSE(area.release(piece->first));  // not handed over yet
        area.hand_over(piece->first);
        ASSERT_TRUE(area.release(piece->first));
      } else {
        ASSERT_TRUE(area.give_back(piece->first));
      }
      given_bytes -= piece->second;
      given.erase(piece);
    }
    ASSERT_EQ(area.free_bytes(), kArea - given_bytes);
  }
  for (const auto& [offset, bytes] : given) ASSERT_TRUE(area.give_back(offset));
  EXPECT_EQ(area.take(kArea), 0u);
  EXPECT_FALSE(area.take(0));
}

TEST(OutputAllocator, WhatWasNotTakenCannotBeReleased) {
  OutputAllocator area(16 * OutputAllocator::kUnitBytes);
  const auto offset = area.take(2 * OutputAllocator::kUnitBytes).value();
  area.hand_over(offset);
  for (const std::uint64_t other : {offset + 64, offset + OutputAllocator::kUnitBytes,
                                    16 * OutputAllocator::kUnitBytes, ~std::uint64_t{0}}) {
    EXPECT_FALSE(area.release(other)) << other;
  }
  EXPECT_TRUE(area.release(offset));
  EXPECT_FALSE(area.release(offset));
  EXPECT_EQ(area.take(2 * OutputAllocator::kUnitBytes), 2 * OutputAllocator::kUnitBytes);
  EXPECT_FALSE(area.release(2 * OutputAllocator::kUnitBytes)) << "of the piece that was there";
  EXPECT_FALSE(area.take(16 * OutputAllocator::kUnitBytes));
  EXPECT_FALSE(area.take(~std::uint64_t{0}));
}

using LocalKeptViews = LocalServerTest;

/// Ten times as many as slots; then all are released at once.
TEST_F(LocalKeptViews, MayBeMoreThanSlots) {
  start();
  constexpr std::size_t kViews = 320;
  ClientOptions options = small_client();
  options.slots = kViews / 10;
  Client client = connect(options);
  const Bytes file = photo();
  const auto expected = engine_->resize(file, width(20)).value().bytes;
  ASSERT_LE(kViews * OutputAllocator::rounded(expected.size()), options.output_bytes);
  for (int round = 0; round < 3; ++round) {
    std::vector<ResizedView> kept;
    for (std::size_t i = 0; i < kViews; ++i) {
      std::promise<Result<ResizedView>> made;
      client.submit_view(file, width(20), [&](Result<ResizedView> view) { made.set_value(view); });
      auto view = made.get_future();
      ASSERT_EQ(view.wait_for(kPatience), std::future_status::ready) << i << " views are kept";
      kept.push_back(view.get().value());
    }
    for (const ResizedView& view : kept) ASSERT_TRUE(std::ranges::equal(view.bytes, expected));
  }
  EXPECT_EQ(client.resize(file, width(20)).value().bytes, expected);
  EXPECT_FALSE(client.lost());
}

}  // namespace
}  // namespace framewire::service::local::test
