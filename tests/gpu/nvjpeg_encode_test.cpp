// What nvJPEG writes is what was meant, read back by libjpeg-turbo.
#ifdef FRAMEWIRE_HAS_NVJPEG
#include <codec/nvjpeg/encoder.hpp>
#include <codec/nvjpeg/nvjpeg_codec.hpp>
#include <codec/reference/reference_codec.hpp>
#include <jpeg/writer.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/conformance/outputs.hpp>
#include <tests/gpu/gpu.hpp>

namespace framewire::gpu_tests {
namespace {

using conformance::make_plan;
using conformance::make_planes;
using conformance::OutputLayout;
using plan::OutputModel;

const OutputLayout kLayouts[] = {{"gray", OutputModel::kGray, 1, 1, 1},
                                 {"444", OutputModel::kYcbcr, 3, 1, 1},
                                 {"422", OutputModel::kYcbcr, 3, 2, 1},
                                 {"420", OutputModel::kYcbcr, 3, 2, 2},
                                 {"440", OutputModel::kYcbcr, 3, 1, 2}};

class NvjpegEncode : public GpuTestWith<OutputLayout> {
 protected:
  std::vector<std::uint8_t> encode(const codec::Planes& planes, const plan::EncodePlan& plan) {
    std::vector<std::uint8_t> out{0xFF, 0xD8};
    codec::CodecOutcome outcome;
    const auto done = codec_->encode(planes, plan, {}, out, outcome);
    EXPECT_TRUE(done) << done.error().to_string();
    quality_ = outcome.quality;
    return out;
  }

  static void check_headers(const plan::EncodePlan& plan, std::span<const std::uint8_t> bytes) {
    const jpeg::JpegFile file = conformance::parse_or_die(bytes);
    ASSERT_EQ(file.frame.component_count, plan.component_count);
    EXPECT_TRUE(file.segments.empty());
    EXPECT_EQ(file.frame.width_px, plan.width_px);
    EXPECT_EQ(file.frame.height_px, plan.height_px);
    EXPECT_EQ(file.end_offset, bytes.size());
    EXPECT_EQ(file.frame.process == jpeg::Process::kProgressive, plan.progressive);
    const jpeg::QualityTables tables = jpeg::quality_tables(plan.quality);
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan.component_count); ++i) {
      EXPECT_EQ(file.frame.components[i].h * plan.h[0], plan.h[i] * file.frame.components[0].h);
      EXPECT_EQ(file.frame.components[i].v * plan.v[0], plan.v[i] * file.frame.components[0].v);
      ASSERT_GE(file.component_quant[i], 0);
      EXPECT_EQ(file.quant_tables[static_cast<std::size_t>(file.component_quant[i])].values,
                (i > 0 ? tables.chrominance : tables.luminance).values);
    }
  }

  /// The stream decodes without warnings to what the reference's stream of the same planes does.
  void check(const plan::EncodePlan& plan) {
    SCOPED_TRACE(testing::Message()
                 << plan.width_px << "x" << plan.height_px << " q" << plan.quality);
    const codec::Planes planes = make_planes(plan);
    const auto bytes = encode(planes, plan);
    if (HasFailure()) return;
    EXPECT_EQ(quality_, plan.quality);
    check_headers(plan, bytes);
    const auto coefficients = conformance::libjpeg_coefficients(bytes);
    ASSERT_TRUE(coefficients);
    EXPECT_EQ(coefficients->warning_count, 0);
    std::vector<std::uint8_t> reference{0xFF, 0xD8};
    codec::CodecOutcome outcome;
    plan::EncodePlan sequential = plan;  // the same samples, and all that the reference writes
    sequential.progressive = false;
    ASSERT_TRUE(codec::make_reference_codec()->encode(planes, sequential, {}, reference, outcome));
    const auto found = conformance::libjpeg_planes(bytes);
    const auto meant = conformance::libjpeg_planes(reference);
    ASSERT_TRUE(found && meant);
    for (std::size_t c = 0; c < planes.planes.size(); ++c) {
      const double ours = conformance::distance(meant->planes[c], planes.planes[c]).psnr_db;
      const double theirs = conformance::distance(found->planes[c], planes.planes[c]).psnr_db;
      // Two infinities have no difference; in tiny planes a few levels weigh much.
      if (theirs < ours) {
        EXPECT_GT(theirs, ours - (plan.width_px < 100 ? 3.0 : 0.1)) << c;
      }
    }
  }

  std::unique_ptr<codec::Codec> codec_ = codec::make_nvjpeg_codec();
  int quality_ = 0;
};

TEST_P(NvjpegEncode, LibjpegReadsWhatWasMeant) {
  constexpr int kSizes[][2] = {{1, 1}, {8, 8}, {9, 7}, {16, 16}, {17, 33}, {200, 99}, {480, 270}};
  constexpr int kQualities[] = {1, 30, 75, 80, 90, 95, 100};
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    for (const int shift : {0, 3}) {
      check(make_plan(GetParam(), kSizes[i][0], kSizes[i][1],
                      kQualities[(i + static_cast<unsigned>(shift)) % std::size(kQualities)]));
    }
  }
}

TEST_P(NvjpegEncode, OptimalTablesTakeFewerBytes) {
  plan::EncodePlan plan = make_plan(GetParam(), 480, 270, 85);
  const std::size_t standard = encode(make_planes(plan), plan).size();
  plan.optimize_huffman = true;
  check(plan);
  EXPECT_LT(encode(make_planes(plan), plan).size(), standard);
}

TEST_P(NvjpegEncode, ProgressiveStreamsDecode) {
  plan::EncodePlan plan = make_plan(GetParam(), 200, 99, 85);
  plan.progressive = true;
  check(plan);
}

TEST_P(NvjpegEncode, MaxBytesIsMetByTheHighestQualityThatFits) {
  plan::EncodePlan plan = make_plan(GetParam(), 200, 99, 92);
  const codec::Planes planes = make_planes(plan);
  plan.max_bytes = encode(planes, plan).size() / 2;
  EXPECT_LE(encode(planes, plan).size(), plan.max_bytes);
  EXPECT_GT(quality_, 1);
  EXPECT_LT(quality_, 92);
  const std::size_t limit = std::exchange(plan.max_bytes, 0);
  plan.quality = quality_ + 1;
  EXPECT_GT(encode(planes, plan).size(), limit);
}

TEST_P(NvjpegEncode, PlanesOfTheWrongSizeAreRefused) {
  const plan::EncodePlan plan = make_plan(GetParam(), 40, 40, 80);
  codec::Planes planes = make_planes(plan);
  planes.planes.back().width_px -= 1;
  codec::CodecOutcome outcome;
  std::vector<std::uint8_t> out;
  const auto done = codec_->encode(planes, plan, {}, out, outcome);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), StatusCode::kInternal);
}

INSTANTIATE_TEST_SUITE_P(Layouts, NvjpegEncode, testing::ValuesIn(kLayouts),
                         [](const testing::TestParamInfo<OutputLayout>& cell) {
                           return cell.param.name;
                         });

TEST(NvjpegEncodeCheck, WhatNvjpegCannotWriteIsUnsupported) {
  const plan::EncodePlan cmyk = make_plan({"", OutputModel::kCmyk, 4, 1, 1}, 8, 8, 80);
  const plan::EncodePlan odd = make_plan({"", OutputModel::kYcbcr, 3, 4, 1}, 8, 8, 80);
  plan::EncodePlan restarts = make_plan({"", OutputModel::kYcbcr, 3, 1, 1}, 8, 8, 80);
  restarts.restart_interval_mcus = 4;
  for (const plan::EncodePlan& plan : {cmyk, odd, restarts}) {
    const auto refused = codec::nvjpeg::NvjpegEncoder::check(plan);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace framewire::gpu_tests
#endif
