#include <lcms2_plugin.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <color/profile.hpp>
#include <color/profile_tags.hpp>
#include <color/shaper.hpp>
#include <color/srgb_likeness.hpp>
#include <color/tone_curve.hpp>
#include <cstring>
#include <jpeg/bytes.hpp>
#include <limits>
#include <vector>

namespace framewire::color {
namespace {

using ByteSpan = std::span<const std::uint8_t>;
using Matrix = std::array<std::array<double, 3>, 3>;

constexpr std::uint32_t kXyz = cmsSigXYZData;
constexpr std::uint32_t kXyzType = cmsSigXYZType;

/// LittleCMS' largest XYZ value; it scales by it on the way in, and back on the way out.
constexpr double kMaxXyz = 1.0 + 32767.0 / 32768.0;

ByteSpan find_tag(ByteSpan icc, std::uint32_t name) {
  const std::uint32_t count = jpeg::read_u32(icc, kProfileHeaderBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t at = kProfileHeaderBytes + 4 + 12 * std::size_t{i};
    if (jpeg::read_u32(icc, at) == name) {
      return icc.subspan(jpeg::read_u32(icc, at + 4), jpeg::read_u32(icc, at + 8));
    }
  }
  return {};
}

std::optional<std::array<double, 3>> read_colorant(ByteSpan icc, std::uint32_t name) {
  const ByteSpan tag = find_tag(icc, name);
  if (tag.size() < 20 || jpeg::read_u32(tag, 0) != kXyzType) return std::nullopt;
  std::array<double, 3> xyz{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto fixed = static_cast<std::int32_t>(jpeg::read_u32(tag, 8 + 4 * i));
    xyz[i] = static_cast<double>(fixed) / 65536.0;
  }
  return xyz;
}

/// XYZ to linear sRGB as LittleCMS' own profile has it, scaled as in BuildRGBOutputMatrixShaper.
Matrix make_srgb_inverse() {
  Matrix inverse{};
  const Profile srgb = make_srgb();
  if (!srgb) return inverse;
  // Static: with the list in the loop's own head, GCC 12 for Arm found no tags (-O2, under
  // emulation).
  static constexpr cmsTagSignature kColorants[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                                   cmsSigBlueColorantTag};
  cmsMAT3 forward, back;
  for (std::size_t column = 0; column < 3; ++column) {
    const auto* xyz = static_cast<const cmsCIEXYZ*>(cmsReadTag(srgb.get(), kColorants[column]));
    if (xyz == nullptr) return inverse;
    forward.v[0].n[column] = xyz->X;
    forward.v[1].n[column] = xyz->Y;
    forward.v[2].n[column] = xyz->Z;
  }
  if (!_cmsMAT3inverse(&forward, &back)) return inverse;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) inverse[i][k] = back.v[i].n[k] * kMaxXyz;
  }
  return inverse;
}

std::uint8_t sample_of(double value) {
  const double clamped = std::clamp(value, 0.0, 1.0);
  const auto word = static_cast<std::uint32_t>(std::floor(clamped * 65535.0 + 0.5));
  return static_cast<std::uint8_t>((word * 65281u + 8388608u) >> 24);
}

/// sRGB's inverse curve, as LittleCMS evaluates it.
struct InverseCurve {
  InverseCurve() {
    const Profile srgb = make_srgb();
    const auto* forward =
        srgb ? static_cast<const cmsToneCurve*>(cmsReadTag(srgb.get(), cmsSigRedTRCTag)) : nullptr;
    if (forward != nullptr) curve = cmsReverseToneCurve(forward);
  }
  ~InverseCurve() { cmsFreeToneCurve(curve); }
  InverseCurve(const InverseCurve&) = delete;
  InverseCurve& operator=(const InverseCurve&) = delete;

  cmsToneCurve* curve = nullptr;
};

std::vector<std::uint8_t> make_srgb_samples() {
  const InverseCurve inverse;
  if (inverse.curve == nullptr) return {};
  std::vector<std::uint8_t> samples(kSrgbSamples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto light = static_cast<float>(static_cast<double>(i) / (kSrgbSamples - 1));
    samples[i] = sample_of(static_cast<double>(cmsEvalToneCurveFloat(inverse.curve, light)));
  }
  return samples;
}

std::int64_t to_fixed_14(double value) {
  return static_cast<std::int64_t>(std::floor(value * 16384.0 + 0.5));
}

/// Fills one channel's light. @return whether black is 0 and every value fits
bool fill_light(const ToneCurve& curve, std::int16_t* light) {
  if (curve.at(0.f) != 0.f) return false;
  for (int i = 0; i < 256; ++i) {
    const float y = curve.at(static_cast<float>(i) / 255.0f);
    if (!(y > -1.99f && y < 1.99f)) return false;  // also where it is not a number
    light[i] = static_cast<std::int16_t>(to_fixed_14(static_cast<double>(y)));
  }
  return true;
}

/// Fills the matrix from colorants (columns) to linear sRGB. @return whether no sum overflows
bool fill_matrix(const Matrix& colorants, ShaperTable& table) {
  static const Matrix inverse = make_srgb_inverse();
  for (std::size_t i = 0; i < 3; ++i) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      double value = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        value += inverse[i][j] * (colorants[j][k] * (1.0 / kMaxXyz));
      }
      if (!(std::fabs(value) < 16)) return false;
      const std::int64_t fixed = to_fixed_14(value);
      table.matrix[3 * i + k] = static_cast<std::int32_t>(fixed);
      sum += std::abs(fixed);
    }
    // Light is below 2 in 1.14.
    if (sum == 0 || sum * 32768 + 8192 > std::numeric_limits<std::int32_t>::max()) return false;
  }
  return true;
}

template <typename T>
PixelTable table_of(TableKind kind, const T& content) {
  PixelTable table{kind, std::vector<std::uint8_t>(sizeof content)};
  std::memcpy(table.bytes.data(), &content, sizeof content);
  return table;
}

std::optional<SimpleProfile> read_rgb(ByteSpan icc) {
  constexpr std::uint32_t kColorants[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                          cmsSigBlueColorantTag};
  constexpr std::uint32_t kCurves[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
  SimpleProfile profile;
  ShaperTable table{};
  Matrix colorants{};
  ByteSpan earlier;
  bool likeness = true;  // of what has been read so far to sRGB
  for (std::size_t c = 0; c < 3; ++c) {
    const auto xyz = read_colorant(icc, kColorants[c]);
    const ByteSpan tag = find_tag(icc, kCurves[c]);
    const auto curve = ToneCurve::read(tag);
    if (!xyz || !curve) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) colorants[i][c] = (*xyz)[i];
    likeness = likeness && is_srgb_primary(c, *xyz);
    // Equal tags share their bytes in a reduced profile.
    if (c > 0 && tag.data() == earlier.data()) {
      std::copy_n(table.light[c - 1], 256, table.light[c]);
      continue;
    }
    earlier = tag;
    if (!fill_light(*curve, table.light[c])) return std::nullopt;
    likeness = likeness && is_srgb_curve([&](float x) { return curve->at(x); });
  }
  if (!fill_matrix(colorants, table) || srgb_samples().empty()) return std::nullopt;
  profile.is_srgb = likeness;
  profile.table = table_of(TableKind::kShaper, table);
  return profile;
}

std::optional<SimpleProfile> read_gray(ByteSpan icc) {
  static const InverseCurve inverse;
  const auto curve = ToneCurve::read(find_tag(icc, cmsSigGrayTRCTag));
  if (!curve || curve->at(0.f) != 0.f || inverse.curve == nullptr) return std::nullopt;
  std::array<std::uint8_t, 256> samples{};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const float light = curve->at(static_cast<float>(i) / 255.0f);
    if (!std::isfinite(light)) return std::nullopt;
    samples[i] = sample_of(static_cast<double>(cmsEvalToneCurveFloat(inverse.curve, light)));
  }
  SimpleProfile profile;
  profile.is_srgb = is_srgb_curve([&](float x) { return curve->at(x); });
  profile.table = table_of(TableKind::kCurve, samples);
  return profile;
}

}  // namespace

std::optional<SimpleProfile> read_simple_profile(ByteSpan reduced) {
  constexpr std::size_t kVersionOffset = 8, kConnectionOffset = 20;
  constexpr std::size_t kMagicOffset = 36;
  constexpr std::uint8_t kFirstUnknownVersion = 5;  // iccMAX, which LittleCMS refuses
  if (reduced.size() < kProfileHeaderBytes + 4) return std::nullopt;
  if (reduced[kVersionOffset] >= kFirstUnknownVersion) return std::nullopt;
  if (jpeg::read_u32(reduced, kMagicOffset) != cmsMagicNumber) return std::nullopt;
  if (jpeg::read_u32(reduced, kConnectionOffset) != kXyz) return std::nullopt;
  if (!find_tag(reduced, cmsSigAToB0Tag).empty() || !find_tag(reduced, cmsSigAToB1Tag).empty()) {
    return std::nullopt;
  }
  const std::uint32_t space = jpeg::read_u32(reduced, kProfileSpaceOffset);
  if (space == cmsSigRgbData) return read_rgb(reduced);
  if (space == cmsSigGrayData) return read_gray(reduced);
  return std::nullopt;
}

std::span<const std::uint8_t> srgb_samples() {
  static const std::vector<std::uint8_t> samples = make_srgb_samples();
  return samples;
}

void shape_row(const ShaperTable& table, const std::uint8_t* rgb, std::uint8_t* out,
               std::int32_t count) {
  const std::uint8_t* const samples = srgb_samples().data();
  for (std::int32_t i = 0; i < count; ++i, rgb += 3, out += 3) {
    const int in[3] = {rgb[0], rgb[1], rgb[2]};
    int shaped[3];
    shape(table, samples, in, shaped);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(shaped[c]);
  }
}

}  // namespace framewire::color
