#include <cmath>
#include <color/profile.hpp>
#include <color/profile_tags.hpp>

namespace framewire::color {

Profile open_profile(std::span<const std::uint8_t> icc) {
  const auto reduced = reduce_profile(icc);
  return reduced ? open_reduced_profile(*reduced) : nullptr;
}

Profile open_reduced_profile(std::span<const std::uint8_t> reduced) {
  return Profile(
      cmsOpenProfileFromMem(reduced.data(), static_cast<cmsUInt32Number>(reduced.size())));
}

Transform make_transform(std::span<const std::uint8_t> reduced, int channels) {
  const Profile profile = open_reduced_profile(reduced);
  const bool gray = channels == 1;
  const Profile srgb = gray ? make_srgb_gray() : make_srgb();
  if (!profile || !srgb) return nullptr;
  const cmsUInt32Number in = gray ? TYPE_GRAY_8 : channels == 4 ? TYPE_CMYK_8 : TYPE_RGB_8;
  // One curve for gray is a poor approximation at the 33 nodes to which LittleCMS would reduce it.
  const cmsUInt32Number flags = gray ? cmsFLAGS_NOOPTIMIZE : 0u;
  return Transform(cmsCreateTransform(profile.get(), in, srgb.get(),
                                      gray ? TYPE_GRAY_8 : TYPE_RGB_8, INTENT_PERCEPTUAL,
                                      flags | cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE));
}

Profile make_srgb() { return Profile(cmsCreate_sRGBProfile()); }

Profile make_srgb_gray() {
  // Parametric type 4: ((x + 0.055) / 1.055)^2.4 above 0.04045, x / 12.92 below.
  const cmsFloat64Number parameters[5] = {2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.04045};
  cmsToneCurve* curve = cmsBuildParametricToneCurve(nullptr, 4, parameters);
  if (curve == nullptr) return nullptr;
  Profile profile(cmsCreateGrayProfile(cmsD50_xyY(), curve));
  cmsFreeToneCurve(curve);
  return profile;
}

double linear_to_srgb(double linear) noexcept {
  return linear <= 0.0031308 ? linear * 12.92 : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

}  // namespace framewire::color
