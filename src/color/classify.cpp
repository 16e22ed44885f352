#include <array>
#include <cmath>
#include <color/converter.hpp>
#include <color/profile.hpp>
#include <jpeg/bytes.hpp>

namespace framewire::color {
namespace {

/// How far a tone curve or primary may lie from sRGB's and still count as sRGB. Curves are compared
/// as sRGB encodes their light, in which eight-bit samples are steps of 0.004 everywhere: a plain
/// gamma of 2.2 is close in linear light, yet eight steps off in the shadows.
constexpr double kCurveTolerance = 0.006;
constexpr double kPrimaryTolerance = 0.002;

/// XYZ of sRGB's primaries, adapted to D50 (ICC.1; Bradford).
constexpr std::array<std::array<double, 3>, 3> kPrimaries{
    {{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}}};

bool srgb_curve(void* profile, cmsTagSignature tag) {
  const auto* curve = static_cast<const cmsToneCurve*>(cmsReadTag(profile, tag));
  if (curve == nullptr) return false;
  for (int i = 0; i <= 64; ++i) {
    const double x = i / 64.0;
    const double y = static_cast<double>(cmsEvalToneCurveFloat(curve, static_cast<float>(x)));
    if (std::fabs(linear_to_srgb(y) - x) > kCurveTolerance) return false;
  }
  return true;
}

bool srgb_primary(void* profile, cmsTagSignature tag, const std::array<double, 3>& expected) {
  const auto* xyz = static_cast<const cmsCIEXYZ*>(cmsReadTag(profile, tag));
  if (xyz == nullptr) return false;
  return std::fabs(xyz->X - expected[0]) < kPrimaryTolerance &&
         std::fabs(xyz->Y - expected[1]) < kPrimaryTolerance &&
         std::fabs(xyz->Z - expected[2]) < kPrimaryTolerance;
}

bool is_srgb(void* profile, cmsColorSpaceSignature space) {
  // A table from device to PCS overrides curves and primaries.
  if (cmsIsTag(profile, cmsSigAToB0Tag)) return false;
  if (space == cmsSigGrayData) return srgb_curve(profile, cmsSigGrayTRCTag);
  return space == cmsSigRgbData && srgb_primary(profile, cmsSigRedColorantTag, kPrimaries[0]) &&
         srgb_primary(profile, cmsSigGreenColorantTag, kPrimaries[1]) &&
         srgb_primary(profile, cmsSigBlueColorantTag, kPrimaries[2]) &&
         srgb_curve(profile, cmsSigRedTRCTag) && srgb_curve(profile, cmsSigGreenTRCTag) &&
         srgb_curve(profile, cmsSigBlueTRCTag);
}

cmsColorSpaceSignature expected_space(jpeg::ColorModel model) {
  switch (model) {
    case jpeg::ColorModel::kGray:
      return cmsSigGrayData;
    case jpeg::ColorModel::kCmyk:
    case jpeg::ColorModel::kYcck:
      return cmsSigCmykData;
    default:
      return cmsSigRgbData;
  }
}

bool usable_class(std::uint32_t device) {
  return device == cmsSigInputClass || device == cmsSigDisplayClass ||
         device == cmsSigOutputClass || device == cmsSigColorSpaceClass;
}

// Where a profile's header (ICC.1, 7.2) has its signatures. LittleCMS would give them as values of
// enumerations, which a damaged profile's are not.
constexpr std::size_t kDeviceClassOffset = 12;
constexpr std::size_t kColorSpaceOffset = 16;
constexpr std::size_t kHeaderBytes = 128;

}  // namespace

ProfileUse classify_profile(const jpeg::JpegFile& file) {
  if (file.icc.empty()) return ProfileUse::kNone;
  if (file.icc.size() < kHeaderBytes) return ProfileUse::kUnusable;
  const cmsColorSpaceSignature space = expected_space(file.color_model);
  if (jpeg::read_u32(file.icc, kColorSpaceOffset) != space ||
      !usable_class(jpeg::read_u32(file.icc, kDeviceClassOffset))) {
    return ProfileUse::kUnusable;
  }
  const Profile profile = open_profile(file.icc);
  if (!profile) return ProfileUse::kUnusable;
  if (is_srgb(profile.get(), space)) return ProfileUse::kIsSrgb;
  if (!cmsIsIntentSupported(profile.get(), INTENT_PERCEPTUAL, LCMS_USED_AS_INPUT) &&
      !cmsIsMatrixShaper(profile.get())) {
    return ProfileUse::kUnusable;
  }
  return ProfileUse::kConvertible;
}

}  // namespace framewire::color
