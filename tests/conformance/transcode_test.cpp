// Whole resizes: every codec gives the reference's picture, at exactly the planned size.
#include <gtest/gtest.h>
#include <codec/reference/reference_codec.hpp>
#include <color/converter.hpp>
#include <plan/plan.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/libjpeg.hpp>
#include <tests/conformance/wishes.hpp>

namespace framewire::conformance {
namespace {

struct TranscodeCell {
  CodecEntry codec;
  Layout layout;
};

class Transcode : public testing::TestWithParam<TranscodeCell> {};

struct Made {
  plan::Plan plan;
  codec::Planes planes;  ///< of the output, by libjpeg
  std::vector<Warning> warnings;
};

std::optional<Made> transcode(const codec::Codec& codec, const plan::Plan& plan,
                              const jpeg::JpegFile& file) {
  codec::Context context;
  auto converter = color::Converter::make(file, plan.encode.model, plan.convert_icc);
  EXPECT_TRUE(converter);
  if (plan.color_path == plan::ColorPath::kConvert && converter) context.converter = &*converter;
  codec::CodecOutcome outcome;
  std::vector<std::uint8_t> out{0xFF, 0xD8};
  auto ok = codec.transcode(file, plan, context, out, outcome);
  EXPECT_TRUE(ok) << ok.error().to_string();
  if (!ok) return std::nullopt;
  auto planes = libjpeg_planes(out);
  EXPECT_TRUE(planes);
  if (!planes) return std::nullopt;
  return Made{plan, std::move(*planes), std::move(outcome.warnings)};
}

/// The output of a codec against the reference's under the same plan, both written at quality 100
/// and read by libjpeg. Measured over this table: 52.1 dB and more; 0.4 % of samples with
/// sharpening, 0.2 % without.
constexpr double kPsnrBoundDb = 50.0;
constexpr double kAboveTwoBound = 0.005;

TEST_P(Transcode, GivesTheReferencesPictureAtThePlannedSize) {
  const auto codec = GetParam().codec.make();
  const auto reference = codec::make_reference_codec();
  const Case c{GetParam().layout, coding("baseline"), 250, 131, 90, 0, 4};
  const auto bytes = make_jpeg(c);
  for (const Wish& wish : all_wishes()) {
    SCOPED_TRACE(wish.name);
    jpeg::JpegFile file = parse_or_die(bytes);
    file.orientation = wish.orientation;
    auto plan = plan::make_plan(file, wish.options, codec->capabilities(), false);
    ASSERT_TRUE(plan) << plan.error().to_string();
    const auto found = transcode(*codec, *plan, file);
    const auto expected = transcode(*reference, *plan, file);
    ASSERT_TRUE(found && expected);
    EXPECT_TRUE(found->warnings.empty());
    EXPECT_EQ(found->planes.planes[0].width_px, plan->encode.width_px);
    EXPECT_EQ(found->planes.planes[0].height_px, plan->encode.height_px);
    ASSERT_EQ(found->planes.planes.size(), expected->planes.planes.size());
    for (std::size_t i = 0; i < found->planes.planes.size(); ++i) {
      const Distance d = distance(found->planes.planes[i], expected->planes.planes[i]);
      EXPECT_TRUE(d.largest <= 2 || d.psnr_db >= kPsnrBoundDb) << i << ": " << d.psnr_db << " dB";
      EXPECT_LE(d.above_two, kAboveTwoBound) << i;
    }
  }
}

std::vector<TranscodeCell> transcode_cells() {
  std::vector<TranscodeCell> cells;
  for (const CodecEntry& codec : all_codecs()) {
    for (const Layout& l : all_layouts()) {
      if (codec.kind != CodecKind::kReference) cells.push_back({codec, l});
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Transcode, testing::ValuesIn(transcode_cells()),
                         [](const testing::TestParamInfo<TranscodeCell>& cell) {
                           return cell.param.codec.name + "_" + cell.param.layout.name;
                         });

}  // namespace
}  // namespace framewire::conformance
