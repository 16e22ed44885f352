// Colour: which profiles count as what, and rows converted against double-precision formulas.
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <lcms2.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <color/converter.hpp>
#include <color/pixel_rows.hpp>
#include <color/profile.hpp>
#include <random>
#include <tests/support/sample_profiles.hpp>
#include <transform/color.hpp>

namespace framewire::color {
namespace {

using namespace testing_profiles;

using jpeg::ColorModel;
using plan::OutputModel;
using Vec3 = std::array<double, 3>;
using Matrix = std::array<Vec3, 3>;

ProfileUse classify(ColorModel model, Bytes icc) {
  return classify_profile(file_of(model, std::move(icc)));
}

TEST(ColorProfile, NoneIsNone) { EXPECT_EQ(classify(ColorModel::kYcbcr, {}), ProfileUse::kNone); }

TEST(ColorProfile, SrgbIsKnownByItsNumbers) {
  EXPECT_EQ(classify(ColorModel::kYcbcr, save(cmsCreate_sRGBProfile())), ProfileUse::kIsSrgb);
  EXPECT_EQ(classify(ColorModel::kRgb, rgb_profile({kSrgbPrimaries, 0})), ProfileUse::kIsSrgb);
  EXPECT_EQ(classify(ColorModel::kGray, gray_profile(0)), ProfileUse::kIsSrgb);
}

TEST(ColorProfile, OtherSpacesAreConvertible) {
  EXPECT_EQ(classify(ColorModel::kYcbcr, rgb_profile(kDisplayP3)), ProfileUse::kConvertible);
  EXPECT_EQ(classify(ColorModel::kYcbcr, rgb_profile(kAdobeRgb)), ProfileUse::kConvertible);
  EXPECT_EQ(classify(ColorModel::kGray, gray_profile(1.8)), ProfileUse::kConvertible);
  EXPECT_EQ(classify(ColorModel::kCmyk, cmyk_profile()), ProfileUse::kConvertible);
  EXPECT_EQ(classify(ColorModel::kYcck, cmyk_profile()), ProfileUse::kConvertible);
}

TEST(ColorProfile, PlainGammaIsNotSrgbInTheShadows) {
  EXPECT_EQ(classify(ColorModel::kYcbcr, rgb_profile({kSrgbPrimaries, 2.2})),
            ProfileUse::kConvertible);
  EXPECT_EQ(classify(ColorModel::kGray, gray_profile(2.2)), ProfileUse::kConvertible);
}

TEST(ColorProfile, DamagedOrForeignProfilesAreUnusable) {
  const Bytes good = rgb_profile(kDisplayP3);
  EXPECT_EQ(classify(ColorModel::kYcbcr, {1, 2, 3}), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kYcbcr, Bytes(good.begin(), good.begin() + 120)),
            ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kYcbcr, Bytes(1000, 0x41)), ProfileUse::kUnusable);
  Bytes no_tags = good;
  no_tags[131] = 0;  // the tag count
  EXPECT_EQ(classify(ColorModel::kYcbcr, no_tags), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kYcbcr, gray_profile(0)), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kGray, good), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kCmyk, good), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kYcbcr, cmyk_profile()), ProfileUse::kUnusable);
  EXPECT_EQ(classify(ColorModel::kYcbcr, save(cmsCreateLab4Profile(nullptr))),
            ProfileUse::kUnusable);
}

TEST(ColorProfile, EveryByteOfAProfileMayBeWrong) {
  const Bytes good = rgb_profile(kDisplayP3);
  for (std::size_t i = 0; i < good.size(); i += 3) {
    Bytes bad = good;
    bad[i] ^= 0xFF;
    const auto file = file_of(ColorModel::kYcbcr, bad);
    if (classify_profile(file) != ProfileUse::kConvertible) continue;
    const auto converter = Converter::make(file, OutputModel::kYcbcr, true);  // may refuse
    EXPECT_TRUE(converter || converter.error().code() == StatusCode::kInvalidInput) << i;
  }
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

Vec3 transformed(const Matrix& m, const Vec3& v) {
  Vec3 out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) out[i] += m[i][k] * v[k];
  }
  return out;
}

Matrix inverse(const Matrix& m) {
  Matrix out{};
  double determinant = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    determinant += m[0][i] * (m[1][j] * m[2][k] - m[1][k] * m[2][j]);
    for (std::size_t r = 0; r < 3; ++r) {
      const std::size_t s = (r + 1) % 3, t = (r + 2) % 3;
      out[i][r] = m[s][j] * m[t][k] - m[s][k] * m[t][j];
    }
  }
  for (Vec3& row : out) {
    for (double& value : row) value /= determinant;
  }
  return out;
}

/// Linear RGB to XYZ with the white of D65 (SMPTE RP 177).
Matrix to_xyz(const cmsCIExyYTRIPLE& p) {
  const cmsCIExyY all[3] = {p.Red, p.Green, p.Blue};
  const auto column = [](const cmsCIExyY& c) {
    return Vec3{c.x / c.y, 1.0, (1 - c.x - c.y) / c.y};
  };
  Matrix m{};
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t i = 0; i < 3; ++i) m[i][j] = column(all[j])[i];
  }
  const Vec3 gains = transformed(inverse(m), column(kD65));
  for (Vec3& row : m) {
    for (std::size_t j = 0; j < 3; ++j) row[j] *= gains[j];
  }
  return m;
}

double decode_curve(double gamma, double v) {
  if (gamma != 0) return std::pow(v, gamma);
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}
double encode_srgb(double v) {
  v = std::clamp(v, 0.0, 1.0);
  return v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}

/// 0–255 in `space` to 0–255 in sRGB.
Vec3 exact_srgb(const Space& space, const Vec3& rgb) {
  Vec3 linear{};
  for (std::size_t i = 0; i < 3; ++i) linear[i] = decode_curve(space.gamma, rgb[i] / 255);
  const Matrix m = multiply(inverse(to_xyz(kSrgbPrimaries)), to_xyz(space.primaries));
  Vec3 out = transformed(m, linear);
  for (double& v : out) v = 255 * encode_srgb(v);
  return out;
}

Vec3 exact_ycbcr(const Vec3& rgb) {
  const auto out = transform::rgb_to_ycbcr(transform::Rgb<double>{rgb[0], rgb[1], rgb[2]});
  return {out.y, out.cb, out.cr};
}

/// Converts one row of pixels given interleaved.
std::vector<Bytes> convert(const Converter& converter, const std::vector<Bytes>& in) {
  const auto width = in[0].size();
  std::vector<const std::uint8_t*> rows;
  for (const Bytes& row : in) rows.push_back(row.data());
  std::vector<Bytes> out(static_cast<std::size_t>(converter.output_components()), Bytes(width));
  std::vector<std::uint8_t*> out_rows;
  for (Bytes& row : out) out_rows.push_back(row.data());
  converter.convert_row(rows, out_rows, static_cast<std::int32_t>(width));
  return out;
}

/// All combinations of a few levels, as one row a component.
std::vector<Bytes> patches(std::size_t components, int step) {
  std::vector<int> levels;
  for (int v = 0; v <= 255; v += step) levels.push_back(v);
  std::size_t count = 1;
  for (std::size_t c = 0; c < components; ++c) count *= levels.size();
  std::vector<Bytes> rows(components, Bytes(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0, rest = i; c < components; ++c, rest /= levels.size()) {
      rows[c][i] = static_cast<std::uint8_t>(levels[rest % levels.size()]);
    }
  }
  return rows;
}

Converter converter_or_die(const jpeg::JpegFile& file, OutputModel model, bool use_icc) {
  auto converter = Converter::make(file, model, use_icc);
  if (!converter) throw std::runtime_error(converter.error().to_string());
  return std::move(*converter);
}

void expect_near(const std::vector<Bytes>& rows, std::size_t i, const Vec3& exact, double bound) {
  for (std::size_t c = 0; c < rows.size(); ++c) {
    ASSERT_NEAR(rows[c][i], std::clamp(exact[c], 0.0, 255.0), bound) << "pixel " << i << ' ' << c;
  }
}

class WideGamut : public testing::TestWithParam<const Space*> {};

TEST_P(WideGamut, ConvertsWithinTwoLevels) {
  const Space& space = *GetParam();
  const auto file = file_of(ColorModel::kRgb, rgb_profile(space));
  const auto in = patches(3, 15);
  const auto out = convert(converter_or_die(file, OutputModel::kYcbcr, true), in);
  ASSERT_EQ(out.size(), 3u);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const Vec3 rgb{double(in[0][i]), double(in[1][i]), double(in[2][i])};
    expect_near(out, i, exact_ycbcr(exact_srgb(space, rgb)), 2);
  }
}

TEST_P(WideGamut, FromYcbcrToo) {
  const Space& space = *GetParam();
  const auto file = file_of(ColorModel::kYcbcr, rgb_profile(space));
  std::vector<Bytes> in(3);
  for (const Vec3& rgb : {Vec3{200, 40, 60}, Vec3{30, 90, 220}, Vec3{128, 128, 128},
                          Vec3{20, 180, 90}, Vec3{250, 245, 240}}) {
    const Vec3 ycc = exact_ycbcr(rgb);
    for (std::size_t c = 0; c < 3; ++c) {
      in[c].push_back(static_cast<std::uint8_t>(std::lround(ycc[c])));
    }
  }
  const auto out = convert(converter_or_die(file, OutputModel::kYcbcr, true), in);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const auto rgb = transform::ycbcr_to_rgb(
        transform::Ycbcr<double>{double(in[0][i]), double(in[1][i]), double(in[2][i])});
    const auto clamp = [](double v) { return std::clamp(v, 0.0, 255.0); };
    expect_near(out, i, exact_ycbcr(exact_srgb(space, {clamp(rgb.r), clamp(rgb.g), clamp(rgb.b)})),
                2);
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, WideGamut, testing::Values(&kDisplayP3, &kAdobeRgb));

TEST(ColorConverter, GrayProfiles) {
  const auto file = file_of(ColorModel::kGray, gray_profile(1.8));
  const auto in = patches(1, 1);
  const auto out = convert(converter_or_die(file, OutputModel::kGray, true), in);
  ASSERT_EQ(out.size(), 1u);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(out[0][i], 255 * encode_srgb(std::pow(static_cast<double>(i) / 255, 1.8)), 2) << i;
  }
}

/// Full ink is 255 here, as the made-up press has it.
Vec3 exact_press(double c, double m, double y, double k) {
  return {255 * ink(c / 255, k / 255), 255 * ink(m / 255, k / 255), 255 * ink(y / 255, k / 255)};
}

void expect_press(const std::vector<Bytes>& in, const std::vector<Bytes>& out, bool inverted,
                  double bound) {
  const int flip = inverted ? 255 : 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    expect_near(out, i,
                exact_ycbcr(exact_press(in[0][i] ^ flip, in[1][i] ^ flip, in[2][i] ^ flip,
                                        in[3][i] ^ flip)),
                bound);
  }
}

TEST(ColorConverter, CmykThroughItsProfile) {
  const auto in = patches(4, 51);
  const Bytes icc = cmyk_profile();
  for (const bool inverted : {false, true}) {
    const auto file = file_of(ColorModel::kCmyk, icc, inverted);
    expect_press(in, convert(converter_or_die(file, OutputModel::kYcbcr, true), in), inverted, 2);
  }
}

TEST(ColorConverter, CmykWithoutProfileTakesTheFormula) {
  const auto in = patches(4, 15);
  for (const bool inverted : {false, true}) {
    const auto file = file_of(ColorModel::kCmyk, {}, inverted);
    expect_press(in, convert(converter_or_die(file, OutputModel::kYcbcr, false), in), inverted, 1);
  }
}

TEST(ColorConverter, YcckIsInvertedCmyUnderYcc) {
  const auto in = patches(4, 51);
  for (const bool inverted : {false, true}) {
    const auto file = file_of(ColorModel::kYcck, {}, inverted);
    const auto out = convert(converter_or_die(file, OutputModel::kYcbcr, false), in);
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      const auto cmyk = transform::ycck_to_cmyk(
          transform::Ycbcr<double>{double(in[0][i]), double(in[1][i]), double(in[2][i])},
          double(in[3][i]));
      const auto inked = [&](double v) {
        v = std::clamp(v, 0.0, 255.0);
        return inverted ? 255 - v : v;
      };
      expect_near(
          out, i,
          exact_ycbcr(exact_press(inked(cmyk.c), inked(cmyk.m), inked(cmyk.y), inked(cmyk.k))),
          1.5);
    }
  }
}

TEST(ColorConverter, KeptCmykIsWrittenInverted) {
  const auto in = patches(4, 85);
  for (const bool inverted : {false, true}) {
    const auto file = file_of(ColorModel::kCmyk, {}, inverted);
    const auto out = convert(converter_or_die(file, OutputModel::kCmyk, false), in);
    ASSERT_EQ(out.size(), 4u);
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t i = 0; i < in[c].size(); ++i) {
        ASSERT_EQ(out[c][i], inverted ? in[c][i] : 255 - in[c][i]);
      }
    }
  }
  const auto ycck = file_of(ColorModel::kYcck, {}, true);
  const auto out = convert(converter_or_die(ycck, OutputModel::kCmyk, false),
                           {{100, 255}, {128, 128}, {128, 128}, {7, 250}});
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[c], (Bytes{155, 0}));
  EXPECT_EQ(out[3], (Bytes{7, 250}));
}

TEST(ColorConverter, RgbAndItsLuma) {
  const auto in = patches(3, 17);
  const auto file = file_of(ColorModel::kRgb);
  const auto color = convert(converter_or_die(file, OutputModel::kYcbcr, false), in);
  const auto gray = convert(converter_or_die(file, OutputModel::kGray, false), in);
  ASSERT_EQ(gray.size(), 1u);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    expect_near(color, i, exact_ycbcr({double(in[0][i]), double(in[1][i]), double(in[2][i])}),
                0.51);
  }
  EXPECT_EQ(gray[0], color[0]);
}

TEST(ColorConverter, RowsOfEveryWidth) {
  const auto file = file_of(ColorModel::kYcbcr, rgb_profile(kDisplayP3));
  const Converter converter = converter_or_die(file, OutputModel::kYcbcr, true);
  std::mt19937 random(5);
  std::vector<Bytes> in(3, Bytes(1600));
  for (Bytes& row : in) {
    for (auto& v : row) v = static_cast<std::uint8_t>(random());
  }
  const auto whole = convert(converter, in);
  for (const std::size_t width : {1u, 2u, 7u, 15u, 17u, 511u, 512u, 513u, 1025u, 1599u}) {
    std::vector<Bytes> part;
    for (const Bytes& row : in) part.emplace_back(row.begin(), row.begin() + std::ptrdiff_t(width));
    const auto out = convert(converter, part);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_TRUE(std::equal(out[c].begin(), out[c].end(), whole[c].begin())) << width;
    }
  }
}

TEST(ColorConverter, AProfileThatIsNoneIsRefused) {
  const auto converter =
      Converter::make(file_of(ColorModel::kYcbcr, {1, 2, 3}), OutputModel::kYcbcr, true);
  ASSERT_FALSE(converter);
  EXPECT_EQ(converter.error().code(), StatusCode::kInvalidInput);
}

/// Runs the vector code of every instruction set that this machine has.
template <typename Body>
void on_every_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(ColorPixelRows, EveryTargetRoundsLikeDouble) {
  const auto in = patches(3, 5);
  const auto count = static_cast<std::int32_t>(in[0].size());
  on_every_target([&] {
    Bytes rgb(in[0].size() * 3);
    ycbcr_to_rgb_row(in[0].data(), in[1].data(), in[2].data(), rgb.data(), count);
    std::vector<Bytes> back(3, Bytes(in[0].size()));
    rgb_to_ycbcr_row(rgb.data(), back[0].data(), back[1].data(), back[2].data(), count);
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      const auto exact = transform::ycbcr_to_rgb(
          transform::Ycbcr<double>{double(in[0][i]), double(in[1][i]), double(in[2][i])});
      const double channels[3] = {exact.r, exact.g, exact.b};
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_NEAR(rgb[3 * i + c], std::clamp(channels[c], 0.0, 255.0), 0.501);
      }
      expect_near(back, i,
                  exact_ycbcr({double(rgb[3 * i]), double(rgb[3 * i + 1]), double(rgb[3 * i + 2])}),
                  0.501);
    }
  });
}

TEST(ColorPixelRows, StayInsideTheirRows) {
  on_every_target([] {
    for (std::size_t count = 1; count < 70; ++count) {
      // Exact sizes: a sanitizer sees any step over the end.
      const Bytes y(count, 90), cb(count, 100), cr(count, 150);
      Bytes rgb(3 * count + 1, 7);
      ycbcr_to_rgb_row(y.data(), cb.data(), cr.data(), rgb.data(),
                       static_cast<std::int32_t>(count));
      EXPECT_EQ(rgb.back(), 7) << count;
      std::vector<Bytes> out(3, Bytes(count + 1, 7));
      rgb_to_ycbcr_row(rgb.data(), out[0].data(), out[1].data(), out[2].data(),
                       static_cast<std::int32_t>(count));
      for (const Bytes& row : out) {
        EXPECT_EQ(row.back(), 7) << count;
        EXPECT_EQ(row[count - 1], row[0]) << count;
      }
    }
  });
}

}  // namespace
}  // namespace framewire::color
