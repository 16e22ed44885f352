// Tables for the GPU against LittleCMS, and the GPU's arithmetic of a pixel against Converter.
#include <gtest/gtest.h>
#include <codec/cuda/picture/pixel_conversion.hpp>
#include <color/converter.hpp>
#include <color/pixel_table.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <cstdlib>
#include <plan/plan.hpp>
#include <tests/support/sample_profiles.hpp>

namespace framewire::color {
namespace {

using namespace testing_profiles;
using codec::cuda::PixelConversion;
using codec::cuda::PixelModel;
using jpeg::ColorModel;
using plan::OutputModel;

struct Difference {
  int most = 0;
  double mean = 0;
};

/// LittleCMS' table of a file's profile.
Result<PixelTable> table_of(const jpeg::JpegFile& file) {
  const auto reduced = reduce_profile(file.icc);
  if (!reduced) return fail(reduced.error());
  return make_pixel_table(*reduced, device_channels(file.color_model));
}

/// Converts 60,000 pixels spread over the whole cube both ways.
/// @param replaced  takes the place of the converter's own table
Difference compare(const jpeg::JpegFile& file, OutputModel model, bool use_icc,
                   const PixelTable* replaced = nullptr) {
  const auto converter = Converter::make(file, model, use_icc);
  EXPECT_TRUE(converter);
  PixelTable table;
  if (use_icc) {
    EXPECT_NE(converter->table(), nullptr);
    table = replaced != nullptr ? *replaced : *converter->table();
  }
  PixelConversion how;
  how.input = static_cast<PixelModel>(file.color_model);
  how.inverted = file.adobe_transform.has_value() ? 1 : 0;
  how.keep_cmyk = model == OutputModel::kCmyk ? 1 : 0;
  how.table_kind = table.kind;
  constexpr std::int32_t kPixels = 60'000;
  std::array<Bytes, 4> in, out;
  std::uint32_t random = 1;
  for (auto& plane : in) {
    for (int i = 0; i < kPixels; ++i) {
      random = random * 1664525u + 1013904223u;
      plane.push_back(static_cast<std::uint8_t>(random >> 24));
    }
  }
  for (auto& plane : out) plane.resize(kPixels);
  const std::array<const std::uint8_t*, 4> from{in[0].data(), in[1].data(), in[2].data(),
                                                in[3].data()};
  const std::array<std::uint8_t*, 4> to{out[0].data(), out[1].data(), out[2].data(), out[3].data()};
  converter->convert_row(from, to, kPixels);
  Difference difference;
  const int planes = converter->output_components();
  for (int i = 0; i < kPixels; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int pixel[4] = {in[0][at], in[1][at], in[2][at], in[3][at]};
    int ours[4];
    codec::cuda::convert_pixel(how, table.bytes.data(), srgb_samples().data(), pixel, ours);
    for (std::size_t c = 0; c < static_cast<std::size_t>(planes); ++c) {
      const int d = std::abs(ours[c] - out[c][at]);
      difference.most = std::max(difference.most, d);
      difference.mean += d / static_cast<double>(kPixels * planes);
    }
  }
  return difference;
}

TEST(ColorPixelTable, PlainArithmeticIsTheConverters) {
  for (const auto& [model, adobe] : {std::pair{ColorModel::kRgb, false},
                                     {ColorModel::kCmyk, false},
                                     {ColorModel::kCmyk, true},
                                     {ColorModel::kYcck, true}}) {
    const auto file = file_of(model, {}, adobe);
    const auto d = compare(file, OutputModel::kYcbcr, false);
    EXPECT_LE(d.most, 1) << static_cast<int>(model);  // without fused multiply-add on the host
    EXPECT_LT(d.mean, 1e-3) << static_cast<int>(model);
    EXPECT_LE(compare(file, OutputModel::kGray, false).most, 1);
    if (model != ColorModel::kRgb) {
      EXPECT_LE(compare(file, OutputModel::kCmyk, false).most, 1);
    }
  }
}

TEST(ColorPixelTable, GrayIsEqual) {
  for (const double gamma : {1.0, 1.8, 2.2}) {
    EXPECT_EQ(
        compare(file_of(ColorModel::kGray, gray_profile(gamma)), OutputModel::kGray, true).most, 0);
  }
}

TEST(ColorPixelTable, CurvesAndMatrixAreWithinOne) {
  const Space wide{{{0.7347, 0.2653, 1}, {0.1596, 0.8404, 1}, {0.0366, 0.0001, 1}}, 1.8};
  for (const Space& space : {kDisplayP3, kAdobeRgb, wide, Space{kSrgbPrimaries, 2.2}}) {
    const auto file = file_of(ColorModel::kRgb, rgb_profile(space));
    const auto table = table_of(file);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->kind, TableKind::kAdditive);
    const auto d = compare(file, OutputModel::kYcbcr, true, &*table);
    EXPECT_LE(d.most, 2);  // 1 of each channel; blue's and red's add up in their differences to Y
    EXPECT_LT(d.mean, 0.1);
    RecordProperty("mean", std::to_string(d.mean));
    EXPECT_LE(
        compare(file_of(ColorModel::kYcbcr, rgb_profile(space)), OutputModel::kGray, true, &*table)
            .most,
        1);
    // Without LittleCMS host and device convert alike, save the rounding of JFIF's equations.
    EXPECT_LE(compare(file, OutputModel::kYcbcr, true).most, 1);
    EXPECT_LT(compare(file, OutputModel::kYcbcr, true).mean, 1e-3);
  }
}

TEST(ColorPixelTable, RgbTablesAreWithinTwo) {
  const auto file = file_of(ColorModel::kYcbcr, wavy_rgb_profile());
  const auto table = table_of(file);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->kind, TableKind::kLattice3);
  const auto d = compare(file, OutputModel::kYcbcr, true);
  EXPECT_LE(d.most, 2);
  EXPECT_LT(d.mean, 0.25);
}

TEST(ColorPixelTable, CmykTablesAreWithinOne) {
  for (const ColorModel model : {ColorModel::kCmyk, ColorModel::kYcck}) {
    const auto file = file_of(model, cmyk_profile(), true);
    const auto d = compare(file, OutputModel::kYcbcr, true);
    EXPECT_LE(d.most, 1);
    EXPECT_LT(d.mean, 0.1);
  }
}

TEST(ColorPixelTable, DamagedProfilesMakeNone) {
  EXPECT_FALSE(make_pixel_table(Bytes{1, 2, 3}, 3));
  EXPECT_FALSE(table_of(file_of(ColorModel::kGray, rgb_profile(kDisplayP3))));
  const auto plain = Converter::make(file_of(ColorModel::kRgb), OutputModel::kYcbcr, false);
  EXPECT_EQ(plain->table(), nullptr);
}

}  // namespace
}  // namespace framewire::color
