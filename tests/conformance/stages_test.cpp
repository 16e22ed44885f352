// The CPU codec's stages run apart, on stripes, give the bytes that it gives in one go.
#include <gtest/gtest.h>
#include <codec/turbo/stages.hpp>
#include <color/converter.hpp>
#include <plan/plan.hpp>
#include <tests/conformance/codecs.hpp>
#include <tests/conformance/wishes.hpp>

namespace framewire::conformance {
namespace {

using codec::PlaneSize;
using codec::PlaneView;
using codec::RowSpan;

/// Planes of their own memory, filled with what no test expects.
struct OwnedPlanes {
  explicit OwnedPlanes(const std::vector<PlaneSize>& sizes) {
    for (const auto& [width, height] : sizes) {
      memory.emplace_back(static_cast<std::size_t>(width) * height, std::uint8_t{0xA5});
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      views.push_back({memory[i].data(), sizes[i].first, sizes[i].second});
    }
  }
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<PlaneView> views;
};

/// Resamples every plane in `parts` pieces, each from a copy of the rows that it claims to need.
void resample_in_parts(const codec::TurboStages& stages, const plan::Plan& plan,
                       const OwnedPlanes& from, OwnedPlanes& to, int parts) {
  for (int p = 0; p < plan.plane_count; ++p) {
    const PlaneView in = from.views[static_cast<std::size_t>(p)];
    const PlaneView out = to.views[static_cast<std::size_t>(p)];
    for (int part = 0; part < parts; ++part) {
      const auto first = static_cast<std::int32_t>(std::int64_t{out.height_px} * part / parts);
      const auto end = static_cast<std::int32_t>(std::int64_t{out.height_px} * (part + 1) / parts);
      if (first == end) continue;
      const RowSpan rows{first, end - first};
      const RowSpan used = stages.input_rows(plan, p, rows);
      ASSERT_GE(used.first, 0);
      ASSERT_LE(used.first + used.count, in.height_px);
      const std::uint8_t* begin = in.samples + static_cast<std::size_t>(used.first) * in.width_px;
      // Exactly as large as claimed, for the address sanitizer.
      const std::vector<std::uint8_t> copy(
          begin, begin + static_cast<std::size_t>(used.count) * in.width_px);
      std::vector<std::uint8_t> made(static_cast<std::size_t>(rows.count) * out.width_px);
      stages.resample(plan, p, rows, copy.data(), made.data());
      std::copy(made.begin(), made.end(),
                out.samples + static_cast<std::size_t>(first) * out.width_px);
    }
  }
}

void expect_same(const codec::TurboStages& stages, const jpeg::JpegFile& file,
                 const plan::Plan& plan, int parts) {
  codec::Context context;
  const auto converter = color::Converter::make(file, plan.encode.model, plan.convert_icc);
  ASSERT_TRUE(converter);
  if (plan.color_path == plan::ColorPath::kConvert) context.converter = &*converter;
  std::vector<std::uint8_t> whole;
  codec::CodecOutcome outcome;
  ASSERT_TRUE(stages.codec().transcode(file, plan, context, whole, outcome));

  OwnedPlanes decoded(codec::decoded_sizes(file, plan));
  OwnedPlanes resampled(codec::resampled_sizes(plan));
  codec::CodecOutcome staged;
  const auto ok = stages.decode(file, plan, context, decoded.views, staged);
  ASSERT_TRUE(ok) << ok.error().to_string();
  resample_in_parts(stages, plan, decoded, resampled, parts);
  std::vector<std::uint8_t> out;
  const auto finished = stages.post_process(plan, context, resampled.views);
  ASSERT_TRUE(finished) << finished.error().to_string();
  const auto encoded = stages.codec().encode(*finished, plan.encode, context, out, staged);
  ASSERT_TRUE(encoded) << encoded.error().to_string();
  EXPECT_EQ(out, whole);
  EXPECT_EQ(staged.warnings.size(), outcome.warnings.size());
  EXPECT_EQ(staged.quality, outcome.quality);
}

TEST(Stages, GiveTheBytesOfOneGoHoweverTheRowsAreDivided) {
  const codec::TurboStages stages;
  for (const Layout& layout : all_layouts()) {
    const auto bytes = make_jpeg({layout, coding("baseline"), 250, 131, 90, 0, 4});
    for (const Wish& wish : all_wishes()) {
      jpeg::JpegFile file = parse_or_die(bytes);
      file.orientation = wish.orientation;
      const auto plan = plan::make_plan(file, wish.options, stages.codec().capabilities(), false);
      ASSERT_TRUE(plan) << plan.error().to_string();
      for (const int parts : {1, 2, 3, 40}) {
        SCOPED_TRACE(layout.name + " " + wish.name + " in " + std::to_string(parts));
        expect_same(stages, file, *plan, parts);
      }
    }
  }
}

TEST(Stages, SalvageDamagedFilesAsOneGoDoes) {
  const codec::TurboStages stages;
  auto bytes = make_jpeg({all_layouts().front(), coding("baseline"), 250, 131, 90, 0, 4});
  for (const std::size_t cut : {bytes.size() / 3, bytes.size() - 20}) {
    const std::vector<std::uint8_t> torn(bytes.begin(),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    const jpeg::JpegFile file = parse_or_die(torn);
    const auto plan = plan::make_plan(file, sized(61, 35), stages.codec().capabilities(), false);
    ASSERT_TRUE(plan);
    SCOPED_TRACE(cut);
    expect_same(stages, file, *plan, 3);
  }
}

}  // namespace
}  // namespace framewire::conformance
