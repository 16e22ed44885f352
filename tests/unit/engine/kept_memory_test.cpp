// What an engine keeps from request to request, as it tells of it.
#include <malloc.h>
#include <tests/support/requests_of_their_own.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/unit/engine/fake_lanes.hpp>
#include <tests/unit/engine/resized.hpp>

namespace framewire::engine {
namespace {

using namespace fake;

std::size_t held_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(EngineMemoryAttack, ThousandsOfRequestsOfTheirOwnStayBelowTheBoundsOnTheCpu) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 2;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const auto photo = test::photo(96, 80);
  const std::size_t before = held_bytes();
  const EngineStats stats = test::submit_requests_of_their_own(*engine, photo, 4000);
  const KeptMemory& filters = test::find_kept(stats, "filters");
  EXPECT_GT(filters.misses, 8000u);  // or no cache was tried
  EXPECT_GT(filters.bytes, 0u);
  EXPECT_LT(held_bytes() - before, std::size_t{12} << 20);
}

TEST(EngineMemory, HitsAndMissesAreTold) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const auto photo = test::photo(96, 80);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine->resize(photo, width(40)));
  const EngineStats stats = engine->stats();
  const KeptMemory& filters = test::find_kept(stats, "filters");
  EXPECT_GT(filters.misses, 0u);
  EXPECT_GE(filters.hits, 2 * filters.misses);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(engine->input_memory(100'000));
  const KeptMemory inputs = test::find_kept(engine->stats(), "inputs");
  EXPECT_EQ(inputs.misses, 1u);
  EXPECT_EQ(inputs.hits, 1u);
  EXPECT_GE(inputs.bytes, 100'000u);
}

TEST(EngineMemory, OfLanesIsTheirSum) {
  Script script;
  std::vector<DeviceLanes> devices = devices_of({&script}, 2);
  devices[0].lane_bytes = 5000;
  devices[0].lane_pinned_bytes = 4000;
  devices[0].progressive_lanes = 1;
  devices[0].pinned_bytes = [] { return std::uint64_t{700}; };
  const auto engine = make(std::move(devices));
  ASSERT_TRUE(one(*engine, photos()[0], width(32)));
  const EngineStats stats = engine->stats();
  test::expect_within_bounds(stats);
  const KeptMemory& device = test::find_kept(stats, "device buffers");
  EXPECT_GE(device.bytes, 1000u);
  EXPECT_EQ(device.bound_bytes, 20'000u);
  const KeptMemory& pinned = test::find_kept(stats, "pinned buffers");
  EXPECT_EQ(pinned.bytes, 700u);
  EXPECT_EQ(pinned.bound_bytes, 24'000u);
  const KeptMemory& headers = test::find_kept(stats, "headers");
  EXPECT_GE(headers.bytes, 10u);
  EXPECT_EQ(headers.bytes * 2, headers.bound_bytes);
}

TEST(EngineMemoryAttack, WhatNeedsMorePinnedMemoryThanABatchMayTakeIsForTheCpu) {
  Script script;
  script.item_pinned_bytes = 4001;
  std::vector<DeviceLanes> devices = devices_of({&script}, 1);
  devices[0].lane_pinned_bytes = 4000;
  const auto engine = make(std::move(devices));
  const auto done = one(*engine, photos()[0], width(32));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->report.codec, CodecKind::kTurbo);
  EXPECT_NE(done->report.codec_reason.find("pinned memory"), std::string::npos)
      << done->report.codec_reason;
  EXPECT_EQ(script.batches, 0);
}

/// @return the largest batch of fifty images, of which each needs so much
/// @param in_place_bytes  of these, in pinned memory already
std::size_t largest_batch(std::uint64_t image_pinned_bytes, std::uint64_t lane_pinned_bytes,
                          std::uint64_t in_place_bytes = 0) {
  Script script;
  script.item_pinned_bytes = image_pinned_bytes;
  script.item_in_place_bytes = in_place_bytes;
  script.batch_time = std::chrono::milliseconds(2);
  std::vector<DeviceLanes> devices = devices_of({&script}, 1);
  devices[0].lane_pinned_bytes = lane_pinned_bytes;
  const auto engine = make(std::move(devices));
  std::atomic<int> answers{0};
  for (int i = 0; i < 50; ++i) {
    submit(*engine, photos()[0], width(32), [&](const Result<Resized>& made) {
      if (made) ++answers;
    });
  }
  engine->drain();
  EXPECT_EQ(answers, 50);
  return script.largest;
}

TEST(EngineMemoryAttack, BatchesEndWherePinnedMemoryWould) {
  EXPECT_EQ(largest_batch(1500, 4000), 2U);
}

/// What a lane pins for many images at once it keeps; one image may need more.
TEST(EngineMemoryAttack, SeveralImagesPinLessThanOneMay) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(largest_batch(40 * kMiB, 256 * kMiB), 2U);
  EXPECT_EQ(largest_batch(100 * kMiB, 256 * kMiB), 1U);
  EXPECT_GT(largest_batch(100 * kMiB, 256 * kMiB, 90 * kMiB), 2U)
      << "most of it lies there already";
}

}  // namespace
}  // namespace framewire::engine
