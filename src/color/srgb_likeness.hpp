// Whether curves and primaries are sRGB's by their numbers.
#pragma once

#include <array>
#include <cmath>
#include <color/profile.hpp>
#include <cstddef>

namespace framewire::color {

/// How far a tone curve or primary may lie from sRGB's and still count as sRGB. Curves are compared
/// as sRGB encodes their light, in which eight-bit samples are steps of 0.004 everywhere: a plain
/// gamma of 2.2 is close in linear light, yet eight steps off in the shadows.
inline constexpr double kCurveTolerance = 0.006;
inline constexpr double kPrimaryTolerance = 0.002;

/// XYZ of sRGB's primaries, adapted to D50 (ICC.1; Bradford).
inline constexpr std::array<std::array<double, 3>, 3> kSrgbPrimaries{
    {{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}}};

/// @param channel  0 red, 1 green, 2 blue
[[nodiscard]] inline bool is_srgb_primary(std::size_t channel, const std::array<double, 3>& xyz) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(std::fabs(xyz[i] - kSrgbPrimaries[channel][i]) < kPrimaryTolerance)) return false;
  }
  return true;
}

/// @param curve  float from 0 to 1 to light
template <typename Curve>
[[nodiscard]] bool is_srgb_curve(const Curve& curve) {
  for (int i = 0; i <= 64; ++i) {
    const double x = i / 64.0;
    const auto light = static_cast<double>(curve(static_cast<float>(x)));
    if (!(std::fabs(linear_to_srgb(light) - x) <= kCurveTolerance)) return false;
  }
  return true;
}

}  // namespace framewire::color
