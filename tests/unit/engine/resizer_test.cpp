// The public API from bytes to bytes: what the report says, and what libjpeg reads of the output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>
#include <ctime>
#include <framewire/resizer.hpp>
#include <jpeg/parser.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <tests/support/tiny_jpeg.hpp>
#include <tests/unit/engine/resized.hpp>
#include <thread>

namespace framewire {
namespace {

using sample::Bytes;
using sample::Decoded;
using sample::Spec;
using test::kinds;
using test::photo;
using test::refusal;
using test::resize_or_die;
using test::smooth;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Resizer, DefaultsAreThoseOfAGoodImageService) {
  const Bytes jpeg = photo();
  ResizeOptions options;
  options.width_px = 100;
  const Resized out = resize_or_die(jpeg, options);
  EXPECT_EQ(out.report.input.width_px, 200);
  EXPECT_EQ(out.report.input.height_px, 150);
  EXPECT_EQ(out.report.input.bytes, jpeg.size());
  EXPECT_EQ(out.report.input.components, 3);
  EXPECT_EQ(out.report.input.sampling, "420");
  EXPECT_EQ(out.report.input.process, "baseline");
  EXPECT_EQ(out.report.output.width_px, 100);
  EXPECT_EQ(out.report.output.height_px, 75);
  EXPECT_EQ(out.report.output.bytes, out.bytes.size());
  EXPECT_EQ(out.report.output.sampling, "420");
  EXPECT_EQ(out.report.output.process, "baseline");
  EXPECT_EQ(out.report.quality, 80);
  EXPECT_EQ(out.report.decode_scale, 8);
  EXPECT_FALSE(out.report.color_converted);
  EXPECT_FALSE(out.report.gain_map_kept);
  EXPECT_GT(out.report.times.total_us, 0);
  EXPECT_THAT(out.report.warnings, IsEmpty());
  const Decoded decoded = sample::decode(out.bytes);
  EXPECT_EQ(decoded.warnings, 0);
  EXPECT_EQ(decoded.width_px, 100);
  EXPECT_EQ(decoded.height_px, 75);
  for (int y = 5; y < 70; ++y) {
    for (int x = 5; x < 95; ++x) {
      ASSERT_NEAR(decoded.planes[0].at(x, y), smooth(0, 2 * x + 1, 2 * y + 1), 6);
    }
  }
}

TEST(Resizer, EveryCodecChoice) {
  const Bytes jpeg = photo();
  ResizeOptions options;
  options.width_px = 40;
  const auto with = [&](CodecKind kind) {
    options.codec = kind;
    return resize_or_die(jpeg, options);
  };
  const Resized turbo = with(CodecKind::kTurbo);
  EXPECT_EQ(turbo.report.codec, CodecKind::kTurbo);
  EXPECT_EQ(turbo.report.codec_reason, "requested");
  EXPECT_EQ(turbo.report.decode_scale, 4);
  const Resized reference = with(CodecKind::kReference);
  EXPECT_EQ(reference.report.codec, CodecKind::kReference);
  const Resized automatic = with(CodecKind::kAuto);
  EXPECT_NE(automatic.report.codec, CodecKind::kAuto);
  EXPECT_EQ(automatic.report.codec_reason, "the fastest on the CPU");
  EXPECT_EQ(reference.report.output.width_px, turbo.report.output.width_px);
  const auto apart = sample::difference(sample::decode(turbo.bytes).planes[0].samples,
                                        sample::decode(reference.bytes).planes[0].samples);
  EXPECT_LT(apart.mean, 1);
}

TEST(Resizer, ACodecThatThisBuildLacksIsNoFallback) {
  ResizeOptions options;
  options.codec = CodecKind::kNvjpeg;
  const auto out = Resizer().resize(photo(), options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().subject(), "codec");
  EXPECT_THAT(out.error().message(), HasSubstr("turbo"));
}

TEST(Resizer, OptionsAreCheckedFirst) {
  ResizeOptions options;
  options.quality = 0;
  const auto out = Resizer().resize(Bytes{}, options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(out.error().subject(), "quality");
}

TEST(Resizer, WhatIsNoJpegIsInvalid) {
  EXPECT_EQ(refusal({}), StatusCode::kInvalidInput);
  EXPECT_EQ(refusal({'P', 'N', 'G'}), StatusCode::kInvalidInput);
  EXPECT_EQ(refusal(Bytes(1000, 0)), StatusCode::kInvalidInput);
}

TEST(Resizer, TwelveBitsAndLosslessAreUnsupported) {
  Bytes twelve = photo();
  const std::size_t sof = jpeg::tiny::find_marker(twelve, 0xC0);
  twelve[sof + 1] = 0xC1;
  twelve[sof + 4] = 12;
  EXPECT_EQ(refusal(twelve), StatusCode::kUnsupported);
  Bytes lossless = photo();
  lossless[sof + 1] = 0xC3;
  EXPECT_EQ(refusal(lossless), StatusCode::kUnsupported);
}

/// The header of a small file, claiming to be something else.
Bytes claiming(int width, int height) {
  Bytes jpeg = photo(16, 16);
  const std::size_t sof = jpeg::tiny::find_marker(jpeg, 0xC0);
  jpeg[sof + 5] = static_cast<std::uint8_t>(height >> 8);
  jpeg[sof + 6] = static_cast<std::uint8_t>(height);
  jpeg[sof + 7] = static_cast<std::uint8_t>(width >> 8);
  jpeg[sof + 8] = static_cast<std::uint8_t>(width);
  return jpeg;
}

TEST(Resizer, LimitsAreCheckedBeforeAnythingIsAllocated) {
  const Bytes giant = claiming(20'000, 14'000);  // 280 megapixels in a few hundred bytes
  const std::clock_t start = std::clock();       // of this process alone
  for (int i = 0; i < 100; ++i) ASSERT_EQ(refusal(giant), StatusCode::kTooLarge);
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  ResizeOptions options;
  options.limits.max_input_pixels = 200 * 150 - 1;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options.limits.max_input_pixels = 200 * 150;
  EXPECT_EQ(resize_or_die(photo(), options).report.output.width_px, 200);
  options = {};
  options.limits.max_input_bytes = 100;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options = {};
  options.limits.max_output_pixels = 1000;
  EXPECT_EQ(refusal(photo(), options), StatusCode::kTooLarge);
  options = {};
  options.limits.max_scans = 5;
  Spec progressive{200, 150, JCS_YCbCr, 2, 2, 90};
  progressive.progressive = true;
  EXPECT_EQ(refusal(sample::make(progressive, smooth), options), StatusCode::kTooLarge);
}

TEST(Resizer, ManyThreadsOneResizerSameBytes) {
  const Resizer resizer;
  std::vector<Bytes> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(photo(150 + 10 * i, 120));
  inputs.push_back(sample::make({150, 120, JCS_CMYK, 1, 1, 90}, smooth));
  ResizeOptions options;
  options.width_px = 60;
  std::vector<Bytes> expected;
  for (const Bytes& input : inputs) expected.push_back(resizer.resize(input, options)->bytes);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 25; ++i) {
        const std::size_t at = (i + t) % inputs.size();
        const auto out = resizer.resize(inputs[at], options);
        if (!out || out->bytes != expected[at]) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Resizer, MovesAndIsUsedAgain) {
  Resizer first;
  const Bytes a = first.resize(photo(), {})->bytes;
  Resizer second = std::move(first);
  EXPECT_EQ(second.resize(photo(), {})->bytes, a);
}

// --- truncation -----------------------------------------------------------------------------

Bytes half(const Bytes& jpeg) {
  return Bytes(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(jpeg.size() / 2));
}

TEST(ResizerTruncated, IsSaidOnceAndTheRestIsGrey) {
  const Bytes jpeg = half(photo(800, 600));
  for (const CodecKind codec : {CodecKind::kTurbo, CodecKind::kReference}) {
    for (const int width : {800, 400, 100}) {
      if (codec == CodecKind::kReference && width == 800) continue;  // slow
      ResizeOptions options;
      options.codec = codec;
      options.width_px = width;
      const Resized out = resize_or_die(jpeg, options);
      EXPECT_THAT(kinds(out.report), ElementsAre("truncated")) << width;
      const Decoded decoded = sample::decode(out.bytes);
      for (const auto& plane : decoded.planes) {
        for (int y = plane.height_px * 3 / 4; y < plane.height_px; ++y) {
          for (int x = 0; x < plane.width_px; ++x) {
            ASSERT_EQ(plane.at(x, y), 128) << width << " at " << x << ',' << y;
          }
        }
      }
      EXPECT_NEAR(decoded.planes[0].at(5, 5), smooth(0, 5.5 * 800 / width, 5.5 * 800 / width), 10);
    }
  }
}

TEST(ResizerTruncated, StrictRefuses) {
  ResizeOptions options;
  options.strict = true;
  EXPECT_EQ(refusal(half(photo()), options), StatusCode::kInvalidInput);
  EXPECT_TRUE(Resizer().resize(photo(), options));
}

}  // namespace
}  // namespace framewire
