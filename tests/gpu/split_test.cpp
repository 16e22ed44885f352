// One picture over several GPUs: the bytes of the CUDA codec, however it is divided.
#include <algorithm>
#include <cstdlib>
#include <framewire/engine.hpp>
#include <future>
#include <split/splitter.hpp>
#include <tests/gpu/gpu.hpp>
#include <tests/gpu/items.hpp>
#include <transport/device.hpp>

namespace framewire::gpu_tests {
namespace {

using split::Parties;
using split::PictureForm;
using split::SplitOutput;
using split::Splitter;

class SplitDevices : public GpuTest {
 protected:
  /// As many GPUs as there are, by turns.
  static Parties parties(std::size_t workers) {
    const int count = value_of(transport::cuda_devices())->count();
    Parties parties;
    for (std::size_t i = 0; i < workers; ++i) {
      parties.workers.push_back(static_cast<int>(i) % count);
    }
    parties.decoder = 0;
    parties.encoder = count - 1;
    return parties;
  }
  static std::future<Result<SplitOutput>> submit(Splitter& splitter, const Bytes& jpeg,
                                                 const ResizeOptions& options) {
    auto promise = std::make_shared<std::promise<Result<SplitOutput>>>();
    auto future = promise->get_future();
    splitter.submit(jpeg, options, [promise](Result<SplitOutput> result) {
      promise->set_value(std::move(result));
    });
    return future;
  }
  static Engine engine() {
    EngineOptions options;
    options.codec = CodecKind::kCuda;
    options.devices = {0};
    return value_of(Engine::make(options));
  }
  static void expect_all_that_fit(const Parties& parties, int device, std::size_t bytes,
                                  bool large_fits);
  static ResizeOptions sized(std::int32_t width, std::int32_t height) {
    ResizeOptions options;
    options.width_px = width;
    options.height_px = height;
    options.resize = ResizeMode::kForce;
    return options;
  }
};

/// Wishes that take every stage.
std::vector<ResizeOptions> wishes(const ResizeOptions& sized) {
  std::vector<ResizeOptions> all(4, sized);
  all[1].kernel = Kernel::kNearest;
  all[1].optimize_huffman = true;
  all[2].kernel = Kernel::kArea;
  all[2].sharpen_sigma = 1;
  all[2].restart_interval_mcus = 2;
  all[3].resize = ResizeMode::kFit;
  all[3].max_bytes = 900;
  return all;
}

/// One of each kind: samplings, gray, one pixel, entropy decoding on the host, colour conversion.
std::vector<Bytes> split_pictures() {
  std::vector<Bytes> all{draw({1, 1, JCS_YCbCr, 1, 1, 90})};
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
    all.push_back(draw({131, 97, JCS_YCbCr, h, v, 90}));
  }
  all.push_back(draw({90, 201, JCS_GRAYSCALE, 1, 1, 90}));
  all.push_back(draw({61, 77, JCS_CMYK, 1, 1, 90}));
  sample::Spec progressive{120, 80, JCS_YCbCr, 2, 2, 90};
  progressive.progressive = true;
  all.push_back(draw(progressive));
  return all;
}

TEST_F(SplitDevices, GivesTheCodecsBytes) {
  Engine whole = engine();
  for (const std::size_t workers : {1, 2, 3}) {
    const auto splitter = value_of(Splitter::make(parties(workers), 3));
    for (const Bytes& jpeg : split_pictures()) {
      for (const ResizeOptions& wish : wishes(sized(67, 41))) {
        SCOPED_TRACE(to_string(wish));
        const auto expected = whole.resize(jpeg, wish);
        ASSERT_TRUE(expected) << expected.error().to_string();
        const auto got = submit(*splitter, jpeg, wish).get();
        ASSERT_TRUE(got) << got.error().to_string();
        EXPECT_EQ(got->resized.bytes, expected->bytes);
        EXPECT_EQ(got->resized.report.codec, expected->report.codec);
        EXPECT_EQ(got->resized.report.quality, expected->report.quality);
      }
    }
    splitter->drain();
    for (const split::DeviceReport& device : splitter->report()) {
      EXPECT_FALSE(device.lost);
      EXPECT_GT(device.stripes, 0U);
      EXPECT_GE(device.device, 0);
    }
  }
}

/// More rows than a tile has, so that stripes begin and end within what the whole takes at once.
TEST_F(SplitDevices, StripesOfALargerPictureMeet) {
  const Bytes jpeg = draw({500, 640, JCS_YCbCr, 2, 2, 90});
  Engine whole = engine();
  const auto splitter = value_of(Splitter::make(parties(3), 3));
  for (const auto& [width, height] : {std::pair(333, 401), std::pair(50, 171), std::pair(9, 7)}) {
    const auto expected = value_of(whole.resize(jpeg, sized(width, height)));
    const auto got = value_of(submit(*splitter, jpeg, sized(width, height)).get());
    EXPECT_EQ(got.resized.bytes, expected.bytes) << width;
  }
}

TEST_F(SplitDevices, WhatTheGpuLeavesIsResizedByTheCpuAndSaid) {
  Bytes half = draw({131, 97, JCS_YCbCr, 2, 2, 90});
  half.resize(half.size() / 2);
  Engine whole = engine();
  ResizeOptions wish = sized(40, 30);
  wish.codec = CodecKind::kCuda;
  const auto splitter = value_of(Splitter::make(parties(2), 2));
  const auto expected = value_of(whole.resize(half, wish));
  const auto got = value_of(submit(*splitter, half, wish).get());
  EXPECT_EQ(got.resized.bytes, expected.bytes);
  EXPECT_EQ(got.resized.report.codec, CodecKind::kTurbo);
  const auto& warnings = got.resized.report.warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(),
                          [](const Warning& w) { return w.kind == WarningKind::kCodecFallback; }));
  const auto planes = value_of(Splitter::make(parties(2), 2, PictureForm::kPlanes));
  const auto kept = value_of(submit(*planes, half, wish).get());
  ASSERT_EQ(kept.planes.planes.size(), 3U);
  EXPECT_EQ(kept.planes.planes[0].width_px, 40);
  wish.progressive = true;  // which the CUDA codec does not write
  EXPECT_EQ(value_of(submit(*splitter, draw({64, 48, JCS_YCbCr, 1, 1, 90}), wish).get())
                .resized.report.codec,
            CodecKind::kTurbo);
  wish.strict = true;
  const auto strict = submit(*splitter, draw({64, 48, JCS_YCbCr, 1, 1, 90}), wish).get();
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code(), StatusCode::kUnsupported);
}

TEST_F(SplitDevices, PlanesAreThoseOfTheCpuButForRounding) {
  const Bytes jpeg = draw({131, 97, JCS_YCbCr, 2, 2, 90});
  const auto on_gpu = value_of(Splitter::make(parties(2), 2, PictureForm::kPlanes));
  const auto on_cpu = value_of(Splitter::make(std::size_t{2}, 2, PictureForm::kPlanes));
  const auto got = value_of(submit(*on_gpu, jpeg, sized(60, 31)).get());
  const auto expected = value_of(submit(*on_cpu, jpeg, sized(60, 31)).get());
  ASSERT_EQ(got.planes.planes.size(), expected.planes.planes.size());
  for (std::size_t i = 0; i < expected.planes.planes.size(); ++i) {
    EXPECT_EQ(got.planes.planes[i].height_px, expected.planes.planes[i].height_px);
    EXPECT_LE(
        sample::difference(got.planes.planes[i].samples, expected.planes.planes[i].samples).largest,
        2);
  }
}

TEST_F(SplitDevices, ALostWorkerIsNamedAndTheOthersGoOn) {
  const Bytes jpeg = draw({131, 97, JCS_YCbCr, 2, 2, 90});
  const auto splitter = value_of(Splitter::make(parties(2), 2));
  const auto expected = value_of(submit(*splitter, jpeg, sized(60, 31)).get()).resized.bytes;
  splitter->cut(1);
  int failed = 0;
  for (int i = 0; i < 8; ++i) {
    const auto result = submit(*splitter, jpeg, sized(60, 31)).get();
    if (result) {
      EXPECT_EQ(result->resized.bytes, expected);
    } else {
      EXPECT_EQ(result.error().code(), StatusCode::kPeerLost);
      ++failed;
    }
  }
  EXPECT_LE(failed, 3);
}

/// While it lives, each emulated device has 96 MiB left, and one of them less.
class LittleMemory {
 public:
  LittleMemory(int device, std::size_t bytes) {
    std::size_t used = 0;
    for (int i = 0; i < value_of(transport::cuda_devices())->count(); ++i) {
      used = std::max(used, used_on(i));
    }
    const std::size_t all = used + (96u << 20);
    ::setenv("FRAMEWIRE_EMULATED_BYTES", std::to_string(all).c_str(), 1);
    const std::size_t filler = all - used_on(device) - bytes;
    EXPECT_EQ(cudaMalloc(&filler_, filler), cudaSuccess);
  }
  ~LittleMemory() {
    EXPECT_EQ(cudaFree(filler_), cudaSuccess);
    ::unsetenv("FRAMEWIRE_EMULATED_BYTES");
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  static std::size_t used_on(int device) {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return total - free;
  }
  void* filler_ = nullptr;
};

/// All of many small pictures arrive, and a large one among them if its device has room for it.
void SplitDevices::expect_all_that_fit(const Parties& parties, int device, std::size_t bytes,
                                       bool large_fits) {
  const std::size_t kLarge = 10;
  const Bytes small = draw({131, 97, JCS_YCbCr, 2, 2, 90});
  const Bytes large = draw({2000, 1500, JCS_YCbCr, 1, 1, 90});
  const auto splitter = value_of(Splitter::make(parties, 64));
  const auto expected = value_of(submit(*splitter, small, sized(60, 31)).get()).resized.bytes;
  const LittleMemory memory(device, bytes);
  std::vector<std::future<Result<SplitOutput>>> answers;
  for (std::size_t i = 0; i < 24; ++i) {
    answers.push_back(submit(*splitter, i == kLarge ? large : small, sized(60, 31)));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto answer = answers[i].get();
    if (i == kLarge && !large_fits) {
      EXPECT_EQ(answer.has_value() ? StatusCode::kInternal : answer.error().code(),
                StatusCode::kBusy);
      continue;
    }
    ASSERT_TRUE(answer) << i << ": " << answer.error().to_string();
    if (i != kLarge) {
      EXPECT_EQ(answer->resized.bytes, expected);
    }
  }
  splitter->drain();
  for (const split::DeviceReport& report : splitter->report()) EXPECT_FALSE(report.lost);
}

TEST_F(SplitDevices, OnlyWhatDoesNotFitAloneIsBusy) {
  if (!emulated()) GTEST_SKIP() << "a GPU's memory cannot be made small";
  expect_all_that_fit(parties(2), 0, 3u << 20, false);
  expect_all_that_fit(parties(2), 0, 64u << 20, true);
}

TEST_F(SplitDevices, AWorkersGpuMayBeTheSmallOne) {
  if (!emulated()) GTEST_SKIP() << "a GPU's memory cannot be made small";
  Parties apart = parties(2);
  if (apart.workers[1] == 0) GTEST_SKIP() << "needs two devices";
  apart.encoder = 0;
  expect_all_that_fit(apart, 1, 48u << 10, false);
  expect_all_that_fit(apart, 1, 512u << 10, true);
}

TEST_F(SplitDevices, PartiesThatMakeNoSplitAreRefused) {
  Parties mixed = parties(2);
  mixed.workers.push_back(-1);
  EXPECT_EQ(Splitter::make(mixed, 2).error().code(), StatusCode::kInvalidInput);
  Parties missing = parties(1);
  missing.encoder = 99;
  EXPECT_EQ(Splitter::make(missing, 2).error().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace framewire::gpu_tests
