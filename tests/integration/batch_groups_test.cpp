// Batches whose workers hand over several images at once and read on while those are made.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <tests/integration/batch_run.hpp>
#include <thread>
#include <utility>

namespace framewire::batch {
namespace {

namespace fs = std::filesystem;

using BatchGroups = BatchRun;

TEST_F(BatchGroups, AWorkerHandsOverSeveralImagesAtOnce) {
  make_inputs(60);
  test::write_text(folder_ / "in/liar.jpg", "words");
  settings_.jobs = 2;
  settings_.group = 8;
  std::atomic<std::size_t> largest{0};
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions& options) {
    std::size_t seen = largest;
    while (jpegs.size() > seen && !largest.compare_exchange_weak(seen, jpegs.size())) {
    }
    // The queue fills meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(largest < 2 ? 50 : 5));
    std::vector<Result<Resized>> results;
    for (const auto jpeg : jpegs) {
      if (jpeg.size() % 5 == 0) {
        results.push_back(fail(StatusCode::kDeadline, "too slow"));
      } else {
        results.push_back(fake_resize(jpeg, options));
      }
    }
    return [results] { return results; };
  };
  hooks_.resize = [](auto jpeg, const ResizeOptions& options) -> Result<Resized> {
    if (jpeg.size() % 5 == 0) return fail(StatusCode::kDeadline, "too slow");
    return fake_resize(jpeg, options);
  };
  const Summary grouped = run(true);
  EXPECT_GT(largest, 1u);
  EXPECT_LE(largest, 8u);
  EXPECT_EQ(grouped.inputs, 61u);
  EXPECT_EQ(grouped.errors.at("deadline"), 12u);
  EXPECT_EQ(grouped.errors.at("invalid_input"), 1u);
  const auto files = test::read_tree(folder_ / "out");
  fs::remove_all(folder_ / "out");
  settings_.group = 1;
  hooks_.begin_all = nullptr;
  EXPECT_EQ(run().ok, grouped.ok);
  EXPECT_EQ(test::read_tree(folder_ / "out"), files);
}

// The kernel copies to the beginning of a cache line faster than to any other place.
TEST_F(BatchGroups, ImagesBeginAtCacheLinesOfTheGroupsMemory) {
  make_inputs(40);
  settings_.jobs = 1;
  settings_.group = 8;
  std::vector<std::uint8_t> memory(20u << 20);
  std::atomic<std::size_t> elsewhere{0};
  hooks_.input_memory = [&](std::size_t bytes) -> Result<InputSlice> {
    return InputSlice{std::span(memory).subspan(3, bytes), nullptr};
  };
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions& options) {
    std::vector<Result<Resized>> results;
    for (const auto jpeg : jpegs) {
      if (reinterpret_cast<std::uintptr_t>(jpeg.data()) % 64 != 0) ++elsewhere;
      EXPECT_GE(jpeg.data(), memory.data());
      EXPECT_LT(jpeg.data(), memory.data() + memory.size());
      results.push_back(fake_resize(jpeg, options));
    }
    return [results] { return results; };
  };
  EXPECT_EQ(run().ok, 40u);
  EXPECT_EQ(elsewhere, 0u);
}

std::vector<Result<Resized>> fake_resize_all(
    const std::vector<std::span<const std::uint8_t>>& jpegs) {
  std::vector<Result<Resized>> results;
  for (const auto jpeg : jpegs) results.push_back(fake_resize(jpeg, {}));
  return results;
}

/// Images that are made while the worker goes on: whoever waits for them makes them.
struct Made {
  std::vector<std::span<const std::uint8_t>> jpegs;
  std::atomic<int>& waiting;
  std::vector<Result<Resized>> operator()() const {
    --waiting;
    return fake_resize_all(jpegs);
  }
};

TEST_F(BatchGroups, AWorkerReadsOnWhileImagesAreMade) {
  make_inputs(60);
  settings_.group = 4;
  std::atomic<int> waiting{0};
  int most = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    most = std::max(most, ++waiting);
    // The queue fills meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(most < 2 ? 50 : 2));
    return Made{{jpegs.begin(), jpegs.end()}, waiting};
  };
  EXPECT_EQ(run(true).ok, 60u);
  EXPECT_EQ(most, 2) << "one group in the making while another is read, and no more";
  EXPECT_EQ(waiting, 0);
  for (int i = 0; i < 60; ++i) {
    Bytes expected = test::read_file(input(i));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(test::read_file(folder_ / ("out/" + name(i))), expected) << i;
  }
}

TEST_F(BatchGroups, FilesThatAreHandedOverTogetherLieInOneMemory) {
  make_inputs(40);
  Bytes large(13 << 20, 7);  // more than a group's memory
  std::copy(kSoi, kSoi + 2, large.begin());
  test::write_file(input(40), large);
  settings_.group = 8;
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  std::vector<std::span<const std::uint8_t>> memories;
  hooks_.input_memory = [&](std::size_t bytes) {
    auto memory = engine->input_slice(bytes);
    if (memory) memories.push_back(memory->bytes);
    return memory;
  };
  const auto inside = [&](std::span<const std::uint8_t> jpeg) {
    const auto& memory = memories.back();
    return jpeg.data() >= memory.data() && jpeg.data() < memory.data() + memory.size();
  };
  int large_ones = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    const std::uint8_t* end = memories.back().data();
    for (const auto& jpeg : jpegs) {
      const bool too_large = jpeg.size() == large.size();
      EXPECT_EQ(inside(jpeg), !too_large);
      if (too_large) {
        ++large_ones;
      } else {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(jpeg.data()) % 64, 0u) << "a cache line";
        EXPECT_GE(jpeg.data(), end);
        EXPECT_LT(jpeg.data(), end + 64);
        end = jpeg.data() + jpeg.size();
      }
    }
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  EXPECT_EQ(run().ok, 41u);
  EXPECT_EQ(large_ones, 1);
  for (int i = 0; i < 41; ++i) {
    Bytes expected = test::read_file(input(i));
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(test::read_file(folder_ / ("out/" + name(i))), expected) << i;
  }
  fs::remove_all(folder_ / "out");
  hooks_.input_memory = [](std::size_t) -> Result<InputSlice> {
    return fail(StatusCode::kBusy, "none left");
  };
  hooks_.begin_all = [](auto jpegs, const ResizeOptions&) {
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  EXPECT_EQ(run().ok, 41u) << "each file then has memory of its own";
}

TEST_F(BatchGroups, WhatIsBeingMadeIsFinishedAtAnEarlyEnd) {
  make_inputs(100);
  settings_.group = 4;
  std::atomic<int> waiting{0};
  int begun = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) {
    ++waiting;
    begun += static_cast<int>(jpegs.size());
    if (begun >= 20) interrupt_ = true;
    return Made{{jpegs.begin(), jpegs.end()}, waiting};
  };
  const Summary summary = run(true);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.ok, static_cast<std::uint64_t>(begun));
  EXPECT_LE(begun, 23);
  EXPECT_EQ(waiting, 0);
  EXPECT_EQ(test::read_tree(folder_ / "out").size(), summary.ok);
}

TEST_F(BatchGroups, AServerThatIsLostStopsTheBatchOnceWithARowForAllItHad) {
  make_inputs(100);
  settings_.group = 4;
  std::atomic<int> begun{0};
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions& options) {
    std::vector<Result<Resized>> results;
    for (const auto jpeg : jpegs) {
      if (++begun > 10) {
        results.push_back(fail(StatusCode::kPeerLost, "the server is gone"));
      } else {
        results.push_back(fake_resize(jpeg, options));
      }
    }
    return [results] { return results; };
  };
  const Summary summary = run(true);
  ASSERT_TRUE(summary.stopped_by);
  EXPECT_EQ(summary.stopped_by->code(), StatusCode::kPeerLost);
  EXPECT_EQ(summary.ok, 10u);
  EXPECT_EQ(summary.ok + summary.failed, static_cast<std::uint64_t>(begun));
  EXPECT_LE(begun, 24);
  EXPECT_EQ(test::read_rows(manifest()).size(), static_cast<std::size_t>(begun));
  hooks_.begin_all = nullptr;
  EXPECT_EQ(run(true, true).ok, 90u);
}

TEST_F(BatchGroups, WhatIsThrownForAGroupIsTheResultOfEachOfItsImages) {
  make_inputs(8);
  settings_.group = 4;
  int groups = 0;
  hooks_.begin_all = [&](auto jpegs, const ResizeOptions&) -> PendingResults {
    if (++groups == 1) return []() -> std::vector<Result<Resized>> { throw std::bad_alloc(); };
    return [results = fake_resize_all({jpegs.begin(), jpegs.end()})] { return results; };
  };
  const Summary summary = run();
  EXPECT_EQ(summary.inputs, 8u);
  EXPECT_GE(summary.errors.at("busy"), 1u);
  EXPECT_EQ(summary.ok, 8u - summary.errors.at("busy"));
}

}  // namespace
}  // namespace framewire::batch
