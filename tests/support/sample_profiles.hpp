// Profiles that tests make themselves: curves and matrix, gray, and tables.
#pragma once

#include <gtest/gtest.h>
#include <lcms2.h>
#include <algorithm>
#include <cmath>
#include <color/profile.hpp>
#include <cstdint>
#include <jpeg/types.hpp>
#include <vector>

namespace framewire::color::testing_profiles {

using Bytes = std::vector<std::uint8_t>;

inline Bytes save(cmsHPROFILE profile) {
  const Profile owner(profile);
  cmsUInt32Number size = 0;
  EXPECT_TRUE(cmsSaveProfileToMem(profile, nullptr, &size));
  Bytes bytes(size);
  EXPECT_TRUE(cmsSaveProfileToMem(profile, bytes.data(), &size));
  return bytes;
}

struct Space {
  cmsCIExyYTRIPLE primaries;
  double gamma;  ///< 0: sRGB's curve
};
inline constexpr cmsCIExyY kD65{0.3127, 0.3290, 1.0};
inline const cmsCIExyYTRIPLE kSrgbPrimaries{{0.64, 0.33, 1}, {0.30, 0.60, 1}, {0.15, 0.06, 1}};
inline const Space kDisplayP3{{{0.68, 0.32, 1}, {0.265, 0.69, 1}, {0.15, 0.06, 1}}, 0};
inline const Space kAdobeRgb{{{0.64, 0.33, 1}, {0.21, 0.71, 1}, {0.15, 0.06, 1}}, 2.19921875};

inline cmsToneCurve* make_curve(double gamma) {
  const cmsFloat64Number srgb[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  return gamma == 0 ? cmsBuildParametricToneCurve(nullptr, 4, srgb) : cmsBuildGamma(nullptr, gamma);
}

inline Bytes rgb_profile(const Space& space) {
  cmsToneCurve* curve = make_curve(space.gamma);
  cmsToneCurve* curves[3] = {curve, curve, curve};
  Bytes bytes = save(cmsCreateRGBProfile(&kD65, &space.primaries, curves));
  cmsFreeToneCurve(curve);
  return bytes;
}

inline Bytes gray_profile(double gamma) {
  cmsToneCurve* curve = make_curve(gamma);
  Bytes bytes = save(cmsCreateGrayProfile(cmsD50_xyY(), curve));
  cmsFreeToneCurve(curve);
  return bytes;
}

/// The ink model of the made-up press: light passes every ink, R = (1 − C)(1 − K), in sRGB.
inline double ink(double c, double k) { return (1 - c) * (1 - k); }

inline cmsInt32Number sample_press(const cmsUInt16Number in[], cmsUInt16Number out[],
                                   void* to_lab) {
  const double k = in[3] / 65535.0;
  const double rgb[3] = {ink(in[0] / 65535.0, k), ink(in[1] / 65535.0, k), ink(in[2] / 65535.0, k)};
  cmsCIELab lab;
  cmsDoTransform(to_lab, rgb, &lab, 1);
  cmsFloat2LabEncodedV2(out, &lab);
  return TRUE;
}

/// An RGB profile with a table to Lab of its own: each channel bent
/// by the next, which no curves and matrix make.
inline cmsInt32Number sample_wavy(const cmsUInt16Number in[], cmsUInt16Number out[], void* to_lab) {
  double rgb[3];
  for (int c = 0; c < 3; ++c) {
    const double v = in[c] / 65535.0;
    const double next = in[(c + 1) % 3] / 65535.0;
    rgb[c] = std::clamp(v + 0.4 * std::sin(3 * next) * v * (1 - v), 0.0, 1.0);
  }
  cmsCIELab lab;
  cmsDoTransform(to_lab, rgb, &lab, 1);
  cmsFloat2LabEncodedV2(out, &lab);
  return TRUE;
}

/// A profile with a table of 16 nodes an axis from device to Lab.
inline Bytes table_profile(cmsColorSpaceSignature space, cmsUInt32Number channels,
                           cmsSAMPLER16 sample) {
  const Profile srgb = make_srgb();
  const Profile lab(cmsCreateLab4Profile(nullptr));
  const Transform to_lab(cmsCreateTransform(srgb.get(), TYPE_RGB_DBL, lab.get(), TYPE_Lab_DBL,
                                            INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_NOOPTIMIZE));
  cmsHPROFILE profile = cmsCreateProfilePlaceholder(nullptr);
  cmsSetProfileVersion(profile, 2.1);
  cmsSetDeviceClass(profile, cmsSigOutputClass);
  cmsSetColorSpace(profile, space);
  cmsSetPCS(profile, cmsSigLabData);
  cmsPipeline* pipeline = cmsPipelineAlloc(nullptr, channels, 3);
  cmsStage* table = cmsStageAllocCLut16bit(nullptr, 16, channels, 3, nullptr);
  EXPECT_TRUE(cmsStageSampleCLut16bit(table, sample, to_lab.get(), 0));
  EXPECT_TRUE(cmsPipelineInsertStage(pipeline, cmsAT_BEGIN, table));
  EXPECT_TRUE(cmsWriteTag(profile, cmsSigAToB0Tag, pipeline));
  EXPECT_TRUE(cmsWriteTag(profile, cmsSigMediaWhitePointTag, cmsD50_XYZ()));
  cmsPipelineFree(pipeline);
  return save(profile);
}

/// Values that are multiples of 17 are nodes.
inline Bytes cmyk_profile() { return table_profile(cmsSigCmykData, 4, sample_press); }
inline Bytes wavy_rgb_profile() { return table_profile(cmsSigRgbData, 3, sample_wavy); }

inline jpeg::JpegFile file_of(jpeg::ColorModel model, Bytes icc = {}, bool adobe = false) {
  jpeg::JpegFile file;
  file.color_model = model;
  file.icc = std::move(icc);
  if (adobe) file.adobe_transform = model == jpeg::ColorModel::kYcck ? 2 : 0;
  return file;
}

}  // namespace framewire::color::testing_profiles
