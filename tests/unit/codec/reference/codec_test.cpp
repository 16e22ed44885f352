#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <codec/reference/coefficients.hpp>
#include <codec/reference/planes.hpp>
#include <codec/reference/reference_codec.hpp>
#include <codec/strict_refusal.hpp>
#include <jpeg/parser.hpp>
#include <optional>
#include <thread>
#include <transform/dct.hpp>

namespace framewire::codec {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// A plane that differs in every sample.
Plane ramp(std::int32_t width, std::int32_t height) {
  Plane plane{width, height, {}};
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) {
      plane.samples.push_back(static_cast<std::uint8_t>((x * 7 + y * 5 + x * y % 13) % 256));
    }
  }
  return plane;
}

/// A file of ours, sequential, 4:2:0 unless gray.
Bytes make_file(std::int32_t width, std::int32_t height, bool gray = false, int restart = 0) {
  plan::EncodePlan plan;
  plan.width_px = width;
  plan.height_px = height;
  plan.restart_interval_mcus = restart;
  plan.quality = 90;
  Planes planes;
  planes.planes.push_back(ramp(width, height));
  if (gray) {
    plan.model = plan::OutputModel::kGray;
    plan.component_count = 1;
  } else {
    plan.h[0] = plan.v[0] = 2;
    for (int i = 0; i < 2; ++i) planes.planes.push_back(ramp((width + 1) / 2, (height + 1) / 2));
  }
  Bytes out{0xFF, 0xD8};
  CodecOutcome outcome;
  EXPECT_TRUE(make_reference_codec()->encode(planes, plan, {}, out, outcome));
  return out;
}

/// Removes every segment with this marker from the headers.
Bytes without(const Bytes& bytes, std::uint8_t marker) {
  Bytes out(bytes.begin(), bytes.begin() + 2);
  std::size_t at = 2;
  while (bytes[at + 1] != 0xDA) {
    const std::size_t size = 2u + (static_cast<std::size_t>(bytes[at + 2]) << 8) + bytes[at + 3];
    if (bytes[at + 1] != marker) {
      out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    at += size;
  }
  out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  return out;
}

Result<Planes> decode(const Bytes& bytes, const Context& context = {},
                      const plan::Scales& scales = plan::kFullScale,
                      CodecOutcome* outcome = nullptr) {
  auto file = jpeg::parse(bytes, Limits{});
  if (!file) return fail(file.error());
  CodecOutcome unused;
  return make_reference_codec()->decode(*file, scales, context,
                                        outcome != nullptr ? *outcome : unused);
}

TEST(ReferenceCodec, SaysWhatItIs) {
  EXPECT_EQ(make_reference_codec()->kind(), CodecKind::kReference);
  EXPECT_TRUE(make_reference_codec()->capabilities().scaled_decode);
}

TEST(ReferenceCodec, MissingHuffmanTablesAreTheStandardOnes) {
  const Bytes whole = make_file(40, 24);
  const Bytes bare = without(whole, 0xC4);
  ASSERT_LT(bare.size(), whole.size());
  const auto expected = decode(whole);
  const auto found = decode(bare);
  ASSERT_TRUE(expected && found);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found->planes[i].samples, expected->planes[i].samples);
  }
}

TEST(ReferenceCodec, FileWithoutScanIsRefused) {
  const Bytes whole = make_file(40, 24);
  const auto sos =
      std::search(whole.begin(), whole.end(), std::begin("\xFF\xDA"), std::begin("\xFF\xDA") + 2,
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  const auto found = decode(Bytes(whole.begin(), sos));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kInvalidInput);
}

TEST(ReferenceCodec, TruncatedFileIsDecodedUnlessStrict) {
  Bytes cut = make_file(64, 64);
  cut.resize(cut.size() * 2 / 3);
  CodecOutcome outcome;
  const auto found = decode(cut, {}, plan::kFullScale, &outcome);
  ASSERT_TRUE(found);
  ASSERT_FALSE(outcome.warnings.empty());
  EXPECT_EQ(outcome.warnings[0].kind, WarningKind::kTruncated);
  EXPECT_EQ(found->planes[0].samples.back(), 128);

  Context strict;
  strict.strict = true;
  const auto refused = decode(cut, strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(refused.error().message().starts_with("truncated: ")) << refused.error().message();
  EXPECT_TRUE(refused.error().message().ends_with(codec::kStrictNote));
  EXPECT_TRUE(refused.error().offset());
  EXPECT_TRUE(decode(make_file(64, 64), strict));
}

TEST(ReferenceCodec, LostRestartIntervalCostsOnlyItself) {
  const Bytes whole = make_file(128, 32, true, 4);
  auto file = jpeg::parse(whole, Limits{});
  ASSERT_TRUE(file);
  const std::size_t begin = file->scans[0].entropy_offset;
  // Cut out everything from RST1 up to RST2.
  const auto find = [&](std::uint8_t code) {
    for (std::size_t i = begin; i + 1 < whole.size(); ++i) {
      if (whole[i] == 0xFF && whole[i + 1] == code) return static_cast<std::ptrdiff_t>(i);
    }
    return std::ptrdiff_t{0};
  };
  ASSERT_GT(find(0xD2), find(0xD1));
  Bytes damaged(whole.begin(), whole.begin() + find(0xD1));
  damaged.insert(damaged.end(), whole.begin() + find(0xD2), whole.end());
  CodecOutcome outcome;
  const auto expected = decode(whole);
  const auto found = decode(damaged, {}, plan::kFullScale, &outcome);
  ASSERT_TRUE(expected && found);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_EQ(outcome.warnings[0].kind, WarningKind::kCorruptData);
  int differing = 0;
  for (std::size_t block = 0; block < 64; ++block) {  // 16 blocks a row, 4 an interval
    bool same = true;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t at = (block / 16 * 8 + i / 8) * 128 + block % 16 * 8 + i % 8;
      same &= found->planes[0].samples[at] == expected->planes[0].samples[at];
    }
    if (!same) {
      ++differing;
      EXPECT_EQ(block / 4, 2u);
    }
  }
  EXPECT_EQ(differing, 4);
}

TEST(ReferenceCodec, DeadlineAndScanLimitAreKept) {
  Context late;
  late.deadline = base::Deadline(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const auto found = decode(make_file(64, 64), late);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kDeadline);

  Context narrow;
  narrow.max_scans = 0;
  const auto refused = decode(make_file(64, 64), narrow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
}

TEST(ReferenceCodec, ScalesOtherThanPowersOfTwoAreUnsupported) {
  const auto found = decode(make_file(64, 64), {}, {8, 3, 8, 8});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kUnsupported);
}

TEST(ReferenceCodec, ReducedDecodeIsTheCornerOfEachWholeBlock) {
  const Bytes bytes = make_file(32, 16, true);
  auto file = jpeg::parse(bytes, Limits{});
  const auto coefficients = reference::decode_coefficients(*file, {});
  ASSERT_TRUE(coefficients);
  const auto& quantiser = file->quant_tables[0].values;
  const auto half = decode(bytes, {}, {4, 4, 4, 4});
  ASSERT_TRUE(half);
  ASSERT_EQ(half->planes[0].width_px, 16);
  for (std::int32_t y = 0; y < 8; ++y) {
    for (std::int32_t x = 0; x < 16; ++x) {
      const auto& block = coefficients->components[0].at(x / 4, y / 4);
      double sum = 128.5;
      for (int v = 0; v < 4; ++v) {
        for (int u = 0; u < 4; ++u) {
          const auto k = static_cast<std::size_t>(v * 8 + u);
          sum += 0.5 * block[k] * quantiser[k] * transform::dct_cosine(4, x % 4, u) *
                 transform::dct_cosine(4, y % 4, v);
        }
      }
      const int expected = std::clamp(static_cast<int>(std::floor(sum)), 0, 255);
      EXPECT_EQ(half->planes[0].samples[static_cast<std::size_t>(y * 16 + x)], expected);
    }
  }
}

}  // namespace
}  // namespace framewire::codec
