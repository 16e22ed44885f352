// Requests of which no two ask for the same: what caches are for, turned against them.
#pragma once

#include <gtest/gtest.h>
#include <atomic>
#include <framewire/engine.hpp>
#include <vector>

namespace framewire::test {

/// The i-th of many requests, with a size, crop, quality and sharpness of its own.
inline ResizeOptions options_of_its_own(int i) {
  ResizeOptions options;
  options.crop_width = 20 + i % 41;
  options.crop_height = 20 + i / 41 % 25;
  options.gravity.anchor = Gravity::Anchor::kFocus;
  options.gravity.focus_x = 0.2 + i / 20'000.0;
  options.gravity.focus_y = 0.3 + i / 30'000.0;
  options.width_px = 9 + i % 31;
  options.quality = 1 + i % 100;
  options.sharpen_sigma = i % 7 == 0 ? 0.5 + i / 10'000.0 : 0;
  options.limits.deadline_ms = 600'000;  // an emulated device takes its time
  return options;
}

inline void expect_within_bounds(const EngineStats& stats) {
  std::uint64_t sum = 0;
  std::uint64_t bound = 0;
  for (const KeptMemory& memory : stats.kept) {
    EXPECT_LE(memory.bytes, memory.bound_bytes) << memory.name;
    sum += memory.bytes;
    bound += memory.bound_bytes;
  }
  EXPECT_LE(sum, bound);
  EXPECT_GT(bound, 0u);
}

inline const KeptMemory& find_kept(const EngineStats& stats, std::string_view name) {
  for (const KeptMemory& memory : stats.kept) {
    if (memory.name == name) return memory;
  }
  ADD_FAILURE() << "no " << name;
  static const KeptMemory none;
  return none;
}

/// Submits `count` such requests for one file, and looks at what is kept while they are done.
/// @return what the engine says at the end
inline EngineStats submit_requests_of_their_own(Engine& engine,
                                                const std::vector<std::uint8_t>& jpeg, int count) {
  std::atomic<int> failures{0};
  for (int i = 0; i < count; ++i) {
    engine.submit(jpeg, options_of_its_own(i), [&](const Result<Resized>& result) {
      if (!result) ++failures;
    });
    if (i % 100 == 99) expect_within_bounds(engine.stats());
  }
  engine.drain();
  EXPECT_EQ(failures, 0);
  const EngineStats stats = engine.stats();
  expect_within_bounds(stats);
  return stats;
}

}  // namespace framewire::test
