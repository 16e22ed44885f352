// The parts of sharpen.hpp that kernels run too.
#pragma once

#include <base/host_device.hpp>
#include <cmath>

namespace framewire::transform {

inline constexpr double kSharpenAmount = 1.0;

/// Taps on either side of the centre: ⌈3σ⌉.
FW_HD inline int gaussian_radius(double sigma) { return static_cast<int>(std::ceil(3.0 * sigma)); }

/// The mask's answer for one sample, neither rounded nor clamped.
template <typename T>
FW_HD constexpr T unsharp(T sample, T blurred) {
  return sample + T(kSharpenAmount) * (sample - blurred);
}

}  // namespace framewire::transform
