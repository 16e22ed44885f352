// What every codec writes is what it meant, read back by libjpeg-turbo.
#include <gtest/gtest.h>
#include <codec/reference/encoder.hpp>
#include <jpeg/writer.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/conformance/outputs.hpp>

namespace framewire::conformance {
namespace {

using plan::OutputModel;

const OutputLayout kOutputLayouts[] = {
    {"gray", OutputModel::kGray, 1, 1, 1}, {"444", OutputModel::kYcbcr, 3, 1, 1},
    {"422", OutputModel::kYcbcr, 3, 2, 1}, {"420", OutputModel::kYcbcr, 3, 2, 2},
    {"440", OutputModel::kYcbcr, 3, 1, 2}, {"411", OutputModel::kYcbcr, 3, 4, 1},
    {"441", OutputModel::kYcbcr, 3, 1, 4}, {"410", OutputModel::kYcbcr, 3, 4, 2},
    {"cmyk", OutputModel::kCmyk, 4, 1, 1},
};

struct EncodeCell {
  CodecEntry codec;
  OutputLayout layout;
};

std::vector<std::uint8_t> encode_or_die(const codec::Codec& codec, const codec::Planes& planes,
                                        const plan::EncodePlan& plan,
                                        codec::CodecOutcome& outcome) {
  std::vector<std::uint8_t> out{0xFF, 0xD8};
  auto ok = codec.encode(planes, plan, {}, out, outcome);
  EXPECT_TRUE(ok) << ok.error().to_string();
  return out;
}

/// Integer transforms miss a coefficient by up to 1/16; the share of levels that this carries over
/// a rounding boundary falls with the quantiser's step. libjpeg-turbo: 0.076 at quality 100, 0.022
/// at 95, and less below.
constexpr int kLevelBound = 1;
double share_bound(int quality) { return quality > 95 ? 0.10 : 0.03; }
constexpr double kFewLevels = 6;  ///< whatever the picture's size

void expect_levels(const LibjpegCoefficients& found,
                   const codec::reference::PaddedCoefficients& meant, int quality, bool exact) {
  ASSERT_EQ(found.components.size(), meant.components.size());
  for (std::size_t i = 0; i < found.components.size(); ++i) {
    const LibjpegBlocks& blocks = found.components[i];
    std::size_t differing = 0;
    int largest = 0;
    for (std::int32_t y = 0; y < blocks.height_blocks; ++y) {
      for (std::int32_t x = 0; x < blocks.width_blocks; ++x) {
        for (std::size_t k = 0; k < 64; ++k) {
          const auto& block =
              blocks.blocks[static_cast<std::size_t>(y) * blocks.stored_width_blocks + x];
          const int difference = std::abs(block[k] - meant.components[i].at(x, y)[k]);
          largest = std::max(largest, difference);
          differing += difference != 0 ? 1 : 0;
        }
      }
    }
    const double count = 64.0 * blocks.width_blocks * blocks.height_blocks;
    EXPECT_LE(largest, exact ? 0 : kLevelBound) << i;
    EXPECT_LE(static_cast<double>(differing),
              exact ? 0 : std::max(kFewLevels, share_bound(quality) * count))
        << i;
  }
}

class Encode : public testing::TestWithParam<EncodeCell> {
 protected:
  std::unique_ptr<codec::Codec> codec_ = GetParam().codec.make();
  bool exact_ = GetParam().codec.kind == CodecKind::kReference;

  /// Encodes, and judges stream, tables and coefficients.
  std::size_t check(const plan::EncodePlan& plan) {
    const codec::Planes planes = make_planes(plan);
    codec::CodecOutcome outcome;
    const auto bytes = encode_or_die(*codec_, planes, plan, outcome);
    if (HasFailure()) return 0;
    EXPECT_EQ(outcome.quality, plan.quality);
    EXPECT_TRUE(outcome.warnings.empty());
    check_headers(plan, bytes);
    const auto found = libjpeg_coefficients(bytes);
    EXPECT_TRUE(found);
    if (!found) return 0;
    EXPECT_EQ(found->warning_count, 0);
    const auto transformed = codec::reference::transform_planes(planes, plan);
    expect_levels(*found, codec::reference::quantise_planes(*transformed, plan, plan.quality),
                  plan.quality, exact_);
    return bytes.size();
  }

  static void check_headers(const plan::EncodePlan& plan, std::span<const std::uint8_t> bytes) {
    const jpeg::JpegFile file = parse_or_die(bytes);
    const auto count = static_cast<std::size_t>(plan.component_count);
    ASSERT_EQ(file.frame.component_count, plan.component_count);
    EXPECT_EQ(file.frame.width_px, plan.width_px);
    EXPECT_EQ(file.frame.height_px, plan.height_px);
    EXPECT_EQ(file.end_offset, bytes.size());
    EXPECT_EQ(file.frame.process == jpeg::Process::kProgressive, plan.progressive);
    EXPECT_EQ(file.scans[0].restart_interval_mcus, plan.restart_interval_mcus);
    const jpeg::QualityTables tables = jpeg::quality_tables(plan.quality);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(file.frame.components[i].h, plan.h[i]);
      EXPECT_EQ(file.frame.components[i].v, plan.v[i]);
      const bool chroma = plan.model == OutputModel::kYcbcr && i > 0;
      ASSERT_GE(file.component_quant[i], 0);
      EXPECT_EQ(file.quant_tables[static_cast<std::size_t>(file.component_quant[i])].values,
                (chroma ? tables.chrominance : tables.luminance).values);
    }
  }
};

TEST_P(Encode, LibjpegReadsTheCoefficientsThatWereMeant) {
  constexpr int kSizes[][2] = {{1, 1}, {8, 8}, {9, 7}, {16, 16}, {17, 33}, {31, 65}, {200, 99}};
  constexpr int kEveryQuality[] = {1, 30, 75, 80, 90, 95, 100};
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    for (const int restart : {0, 1, 7}) {
      plan::EncodePlan plan = make_plan(GetParam().layout, kSizes[i][0], kSizes[i][1],
                                        kEveryQuality[(i + static_cast<unsigned>(restart)) % 7]);
      plan.restart_interval_mcus = restart;
      SCOPED_TRACE(testing::Message() << plan.width_px << "x" << plan.height_px << " q"
                                      << plan.quality << " restart " << restart);
      check(plan);
    }
  }
}

TEST_P(Encode, OptimalTablesCarryTheSameCoefficientsInFewerBytes) {
  plan::EncodePlan plan = make_plan(GetParam().layout, 200, 99, 85);
  plan.restart_interval_mcus = 3;
  const std::size_t standard = check(plan);
  plan.optimize_huffman = true;
  EXPECT_LT(check(plan), standard);
}

TEST_P(Encode, ProgressiveCarriesTheSameCoefficients) {
  plan::EncodePlan plan = make_plan(GetParam().layout, 61, 47, 85);
  plan.progressive = true;
  codec::CodecOutcome outcome;
  std::vector<std::uint8_t> out;
  auto ok = codec_->encode(make_planes(plan), plan, {}, out, outcome);
  if (!ok && ok.error().code() == StatusCode::kUnsupported && exact_) {
    GTEST_SKIP() << ok.error().message();
  }
  check(plan);
}

TEST_P(Encode, MaxBytesIsMetByTheHighestQualityThatFits) {
  plan::EncodePlan plan = make_plan(GetParam().layout, 120, 80, 92);
  const codec::Planes planes = make_planes(plan);
  codec::CodecOutcome free;
  const std::size_t unbounded = encode_or_die(*codec_, planes, plan, free).size();
  plan.max_bytes = unbounded / 2;
  codec::CodecOutcome bounded;
  const auto bytes = encode_or_die(*codec_, planes, plan, bounded);
  EXPECT_LE(bytes.size(), plan.max_bytes);
  EXPECT_GT(bounded.quality, 1);
  EXPECT_LT(bounded.quality, plan.quality);
  EXPECT_TRUE(bounded.warnings.empty());
  ASSERT_TRUE(libjpeg_coefficients(bytes));

  plan.quality = bounded.quality + 1;
  plan.max_bytes = 0;
  codec::CodecOutcome next;
  EXPECT_GT(encode_or_die(*codec_, planes, plan, next).size(), unbounded / 2);
}

TEST_P(Encode, MaxBytesOutOfReachKeepsTheSmallestAndSaysSo) {
  plan::EncodePlan plan = make_plan(GetParam().layout, 40, 40, 80);
  plan.max_bytes = 50;
  codec::CodecOutcome outcome;
  const auto bytes = encode_or_die(*codec_, make_planes(plan), plan, outcome);
  EXPECT_EQ(outcome.quality, 1);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_EQ(outcome.warnings[0].kind, WarningKind::kMaxBytesMissed);
  EXPECT_TRUE(libjpeg_coefficients(bytes));
}

TEST_P(Encode, PlanesOfTheWrongSizeAreRefused) {
  const plan::EncodePlan plan = make_plan(GetParam().layout, 40, 40, 80);
  codec::Planes planes = make_planes(plan);
  planes.planes.back().width_px -= 1;
  planes.planes.back().samples.resize(static_cast<std::size_t>(planes.planes.back().width_px) *
                                      planes.planes.back().height_px);
  codec::CodecOutcome outcome;
  std::vector<std::uint8_t> out;
  auto ok = codec_->encode(planes, plan, {}, out, outcome);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code(), StatusCode::kInternal);
}

std::vector<EncodeCell> encode_cells() {
  std::vector<EncodeCell> cells;
  for (const CodecEntry& codec : all_codecs()) {
    for (const OutputLayout& layout : kOutputLayouts) cells.push_back({codec, layout});
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Encode, testing::ValuesIn(encode_cells()),
                         [](const testing::TestParamInfo<EncodeCell>& cell) {
                           return cell.param.codec.name + "_" + cell.param.layout.name;
                         });

}  // namespace
}  // namespace framewire::conformance
