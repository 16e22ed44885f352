// The CPU codec on files that end early, and on blocks that hold more than the picture does.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <codec/turbo/turbo_codec.hpp>
#include <jpeg/parser.hpp>
#include <tests/unit/codec/turbo/transcoder.hpp>

namespace framewire::codec {
namespace {

using sample::Bytes;
using sample::Spec;
using test::noisy;
using test::parse;
using test::Transcoder;

/// A file whose entropy bytes end half-way.
Bytes cut(const Bytes& jpeg) {
  const auto file = parse(jpeg);
  const auto& scan = file.scans.back();
  return Bytes(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(scan.entropy_offset +
                                                                        scan.entropy_bytes / 2));
}

TEST(TurboCodec, StrictRefusesWhatOnlyDecodesWithWarnings) {
  const Transcoder transcoder;
  const Bytes jpeg = cut(sample::make({200, 160, JCS_YCbCr, 2, 2, 90}, noisy));
  const auto file = parse(jpeg);
  Context strict;
  strict.strict = true;
  const auto plan = transcoder.plan(file, {});
  const auto refused = transcoder.run(file, plan, strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(refused.error().message().starts_with("truncated: ")) << refused.error().message();
  EXPECT_TRUE(refused.error().message().ends_with(codec::kStrictNote));
  const auto lenient = transcoder.run(file, plan);
  ASSERT_TRUE(lenient);
  EXPECT_EQ(lenient->outcome.warnings.size(), 1u);
  EXPECT_EQ(lenient->outcome.warnings.front().kind, WarningKind::kTruncated);
}

TEST(TurboCodec, StrictReadsPastThePartInUse) {
  const Transcoder transcoder;
  const Bytes jpeg = cut(sample::make({200, 160, JCS_YCbCr, 2, 2, 90}, noisy));
  const auto file = parse(jpeg);
  ResizeOptions options;
  options.crop_width = options.crop_height = 32;
  options.gravity.anchor = Gravity::Anchor::kNo;
  Context strict;
  strict.strict = true;
  EXPECT_TRUE(transcoder.run(file, transcoder.plan(file, options)));
  EXPECT_FALSE(transcoder.run(file, transcoder.plan(file, options), strict));
}

TEST(TurboCodec, WhatIsMissingIsExactlyGrey) {
  // Huffman-coded files only: an arithmetic decoder goes on with zero bytes and finds no end (T.81
  // D.2.6).
  const Transcoder transcoder;
  for (const int restart_mcus : {0, 4}) {
    Spec spec{200, 160, JCS_YCbCr, 2, 2, 90};
    spec.restart_mcus = restart_mcus;
    const auto bytes = cut(sample::make(spec, noisy));
    const auto file = parse(bytes);
    for (const int scale : {8, 4, 2, 1}) {
      SCOPED_TRACE(scale);
      CodecOutcome outcome;
      const auto planes =
          transcoder.codec().decode(file, {scale, scale, scale, scale}, {}, outcome);
      ASSERT_TRUE(planes) << planes.error().to_string();
      for (const Plane& plane : planes->planes) {
        const auto grey = [](int v) { return v == 128; };
        const auto tail = static_cast<std::ptrdiff_t>(plane.samples.size() / 4);
        EXPECT_TRUE(std::all_of(plane.samples.end() - tail, plane.samples.end(), grey));
        EXPECT_FALSE(std::all_of(plane.samples.begin(), plane.samples.begin() + 40, grey));
      }
    }
  }
}

/// Shortens a file's frame so that its last blocks hold more than the picture does.
Bytes shortened(Bytes jpeg, int width, int height) {
  const auto sof = parse(jpeg).frame.offset;
  jpeg[sof + 5] = static_cast<std::uint8_t>(height >> 8);
  jpeg[sof + 6] = static_cast<std::uint8_t>(height);
  jpeg[sof + 7] = static_cast<std::uint8_t>(width >> 8);
  jpeg[sof + 8] = static_cast<std::uint8_t>(width);
  return jpeg;
}

class TurboPadding : public testing::TestWithParam<turbo::EntropyDecoder> {};

TEST_P(TurboPadding, ShowsAtNoScale) {
  // Grey up to 201×161, and beyond, in the same blocks, white.
  const auto white_outside = [](int, double x, double y) {
    return x < 201 && y < 161 ? 100.0 : 255.0;
  };
  const auto codec = make_turbo_codec_with(GetParam());
  for (const bool progressive : {false, true}) {
    Spec spec{208, 168, JCS_YCbCr, 1, 1, 100};
    spec.progressive = progressive;
    const Bytes jpeg = shortened(sample::make(spec, white_outside), 201, 161);
    const auto file = parse(jpeg);
    for (const int scale : {8, 4, 2, 1}) {
      CodecOutcome outcome;
      const auto planes = codec->decode(file, {scale, scale, scale, scale}, {}, outcome);
      ASSERT_TRUE(planes) << planes.error().to_string();
      for (const Plane& plane : planes->planes) {
        for (const int v : plane.samples) ASSERT_NEAR(v, 100, 2) << "at " << scale << "/8";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, TurboPadding,
                         testing::Values(turbo::EntropyDecoder::kOwn,
                                         turbo::EntropyDecoder::kLibjpeg));

}  // namespace
}  // namespace framewire::codec
