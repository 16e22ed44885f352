// Files without a profile whose EXIF says Adobe RGB, as cameras write them (DCF 2.0).
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <color/assumed_profile.hpp>
#include <color/converter.hpp>
#include <color/shaper.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>
#include <tests/support/sample_profiles.hpp>
#include <tests/unit/engine/resized.hpp>
#include <transform/color.hpp>

namespace framewire {
namespace {

using test::Bytes;
using test::resize_or_die;

struct Exif {
  std::uint16_t color_space = 0xFFFF;
  std::string_view index = "R03";
  bool loop = false;  ///< the interoperability directory is the EXIF directory again
};

Bytes exif_block(const Exif& says) {
  using namespace jpeg;
  Bytes out;
  append_text(out, "MM");
  append_u16(out, 42);
  append_u32(out, 8);
  append_u16(out, 1);  // IFD0 at 8: where the EXIF directory is
  append_u16(out, 0x8769);
  append_u16(out, 4);
  append_u32(out, 1);
  append_u32(out, 26);
  append_u32(out, 0);
  append_u16(out, 2);  // EXIF at 26
  append_u16(out, 0xA001);
  append_u16(out, 3);
  append_u32(out, 1);
  append_u16(out, says.color_space);
  append_u16(out, 0);
  append_u16(out, 0xA005);
  append_u16(out, 4);
  append_u32(out, 1);
  append_u32(out, says.loop ? 26 : 56);
  append_u32(out, 0);
  append_u16(out, 1);  // interoperability at 56
  append_u16(out, 1);
  append_u16(out, 2);
  append_u32(out, 4);
  append_text(out, says.index);
  out.push_back(0);
  append_u32(out, 0);
  return out;
}

Bytes with_segments(const Bytes& image, const Bytes& segments) {
  Bytes out = image;
  out.insert(out.begin() + 2, segments.begin(), segments.end());
  return out;
}

Bytes exif_segment(const Exif& says) {
  Bytes payload, out;
  jpeg::append_text(payload, jpeg::kExifId);
  jpeg::append_bytes(payload, exif_block(says));
  jpeg::write_segment(out, jpeg::marker::kApp1, payload);
  return out;
}

Bytes icc_segments(const Bytes& profile) {
  Bytes out;
  EXPECT_TRUE(jpeg::write_icc(out, profile));
  return out;
}

using Vec3 = std::array<double, 3>;

/// By the published numbers alone, in double precision (matrices of Adobe RGB (1998), 4.3.6.1, and
/// of IEC 61966-2-1; both for D65).
Vec3 exact_srgb(const Vec3& adobe) {
  constexpr double kToXyz[3][3] = {
      {0.57667, 0.18556, 0.18823}, {0.29734, 0.62736, 0.07529}, {0.02703, 0.07069, 0.99134}};
  constexpr double kToSrgb[3][3] = {{3.2404542, -1.5371385, -0.4985314},
                                    {-0.9692660, 1.8760108, 0.0415560},
                                    {0.0556434, -0.2040259, 1.0572252}};
  Vec3 linear{}, xyz{}, out{};
  for (std::size_t i = 0; i < 3; ++i) linear[i] = std::pow(adobe[i] / 255, 563.0 / 256);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) xyz[i] += kToXyz[i][k] * linear[k];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    double value = 0;
    for (std::size_t k = 0; k < 3; ++k) value += kToSrgb[i][k] * xyz[k];
    value = std::clamp(value, 0.0, 1.0);
    out[i] = 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055);
  }
  return out;
}

TEST(AdobeRgbByExif, IsConvertedAndTold) {
  const Bytes plain = test::photo();
  const Bytes said = with_segments(plain, exif_segment({}));
  const auto resized = resize_or_die(said);
  EXPECT_EQ(resized.report.assumed_profile, "Adobe RGB (1998)");
  EXPECT_TRUE(resized.report.color_converted);
  EXPECT_TRUE(resized.report.warnings.empty());
  const auto carried =
      resize_or_die(with_segments(plain, icc_segments(color::adobe_rgb_profile())));
  EXPECT_EQ(carried.report.assumed_profile, "");
  EXPECT_EQ(resized.bytes, carried.bytes);
  EXPECT_NE(resized.bytes, resize_or_die(plain).bytes);
}

TEST(AdobeRgbByExif, NothingElseCountsAsIt) {
  const Bytes plain = test::photo();
  const auto unchanged = resize_or_die(plain).bytes;
  for (const Exif& says : {Exif{1, "R03"}, Exif{0xFFFF, "R98"}, Exif{2, "R03"},
                           Exif{0xFFFF, "R03", true}, Exif{0xFFFF, "THM"}}) {
    const auto resized = resize_or_die(with_segments(plain, exif_segment(says)));
    EXPECT_EQ(resized.report.assumed_profile, "") << says.index;
    EXPECT_EQ(resized.bytes, unchanged) << says.index;
  }
  // A profile is believed before EXIF is.
  const auto p3 =
      icc_segments(color::testing_profiles::rgb_profile(color::testing_profiles::kDisplayP3));
  Bytes both = exif_segment({});
  both.insert(both.end(), p3.begin(), p3.end());
  EXPECT_EQ(resize_or_die(with_segments(plain, both)).bytes,
            resize_or_die(with_segments(plain, p3)).bytes);
}

TEST(AdobeRgbByExif, GrayStaysWhatItIs) {
  const Bytes gray =
      sample::make({64, 48, JCS_GRAYSCALE}, [](int, double x, double y) { return x + y; });
  const auto resized = resize_or_die(with_segments(gray, exif_segment({})));
  EXPECT_EQ(resized.report.assumed_profile, "");
  EXPECT_EQ(resized.bytes, resize_or_die(gray).bytes);
}

// Numbers that are kept keep their meaning: the profile that EXIF named travels along.
TEST(AdobeRgbByExif, KeptNumbersGetTheProfile) {
  ResizeOptions options;
  options.color = ColorMode::kKeep;
  const Bytes plain = test::photo();
  const auto resized = resize_or_die(with_segments(plain, exif_segment({})), options);
  EXPECT_FALSE(resized.report.color_converted);
  EXPECT_EQ(test::parse_or_die(resized.bytes).icc, color::adobe_rgb_profile());
}

// What the codecs of both kinds use: the converter on the host, its table on devices.
TEST(AdobeRgbByExif, NumbersAreThePublishedOnes) {
  jpeg::JpegFile file;
  file.color_model = jpeg::ColorModel::kRgb;
  file.exif_adobe_rgb = true;
  ASSERT_EQ(color::assume_profile(file), color::kAdobeRgbName);
  ASSERT_EQ(color::classify_profile(file), color::ProfileUse::kConvertible);
  const auto converter = color::Converter::make(file, plan::OutputModel::kYcbcr, true);
  ASSERT_TRUE(converter);
  const color::PixelTable* table = converter->table();
  ASSERT_NE(table, nullptr);
  double host = 0, device = 0;
  for (int r = 0; r < 256; r += 15) {
    for (int g = 0; g < 256; g += 15) {
      for (int b = 0; b < 256; b += 15) {
        const Vec3 exact =
            exact_srgb({static_cast<double>(r), static_cast<double>(g), static_cast<double>(b)});
        const std::uint8_t in[3] = {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g),
                                    static_cast<std::uint8_t>(b)};
        std::uint8_t out[3];
        const std::array<const std::uint8_t*, 3> from{in, in + 1, in + 2};
        const std::array<std::uint8_t*, 3> to{out, out + 1, out + 2};
        converter->convert_row(from, to, 1);
        const double luma = 0.299 * exact[0] + 0.587 * exact[1] + 0.114 * exact[2];
        host = std::max(host, std::fabs(luma - out[0]));
        const int numbers[3] = {r, g, b};
        int looked_up[3];
        color::look_up(table->kind, table->bytes.data(), color::srgb_samples().data(), numbers,
                       looked_up);
        for (std::size_t c = 0; c < 3; ++c) {
          device = std::max(device, std::fabs(exact[c] - looked_up[c]));
        }
      }
    }
  }
  EXPECT_LT(host, 1.5);
  EXPECT_LT(device, 1.5);
}

}  // namespace
}  // namespace framewire
