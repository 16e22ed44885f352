#include <algorithm>
#include <color/assumed_profile.hpp>
#include <color/profile.hpp>

namespace framewire::color {
namespace {

Profile make_adobe_rgb() {
  const cmsCIExyY white{0.3127, 0.3290, 1.0};
  const cmsCIExyYTRIPLE primaries{{0.64, 0.33, 1}, {0.21, 0.71, 1}, {0.15, 0.06, 1}};
  cmsToneCurve* curve = cmsBuildGamma(nullptr, 563.0 / 256.0);
  if (curve == nullptr) return nullptr;
  cmsToneCurve* curves[3] = {curve, curve, curve};
  Profile profile(cmsCreateRGBProfile(&white, &primaries, curves));
  cmsFreeToneCurve(curve);
  cmsMLU* text = cmsMLUalloc(nullptr, 1);
  if (profile && text != nullptr &&
      cmsMLUsetASCII(text, "en", "US", "Compatible with Adobe RGB (1998)")) {
    cmsWriteTag(profile.get(), cmsSigProfileDescriptionTag, text);
  }
  cmsMLUfree(text);
  return profile;
}

std::vector<std::uint8_t> save(const Profile& profile) {
  cmsUInt32Number size = 0;
  if (!profile || !cmsSaveProfileToMem(profile.get(), nullptr, &size)) return {};
  std::vector<std::uint8_t> bytes(size);
  if (!cmsSaveProfileToMem(profile.get(), bytes.data(), &size)) return {};
  // LittleCMS writes when it was made (ICC.1, 7.2.8); equal input shall give equal output.
  constexpr std::size_t kDateOffset = 24;
  constexpr std::uint8_t kFirstOf2000[12] = {0x07, 0xD0, 0, 1, 0, 1};
  std::copy(std::begin(kFirstOf2000), std::end(kFirstOf2000), bytes.begin() + kDateOffset);
  return bytes;
}

}  // namespace

const std::vector<std::uint8_t>& adobe_rgb_profile() {
  static const std::vector<std::uint8_t> bytes = save(make_adobe_rgb());
  return bytes;
}

std::string_view assume_profile(jpeg::JpegFile& file) {
  const bool color =
      file.color_model == jpeg::ColorModel::kYcbcr || file.color_model == jpeg::ColorModel::kRgb;
  if (!file.icc.empty() || !file.exif_adobe_rgb || !color) return {};
  file.icc = adobe_rgb_profile();
  return kAdobeRgbName;
}

}  // namespace framewire::color
