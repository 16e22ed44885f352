// The resampling kernels, as functions of the distance from an output sample's centre.
//
// Source: Lanczos: C. Duchon, 1979; bicubic: R. Keys, 1981, a = −½ (Catmull-Rom).
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <framewire/options.hpp>

namespace framewire::transform {

/// Half width of a kernel at scale 1, in samples.
FW_HD constexpr double kernel_support(Kernel kernel) {
  switch (kernel) {
    case Kernel::kLanczos3:
      return 3.0;
    case Kernel::kBicubic:
      return 2.0;
    case Kernel::kBilinear:
      return 1.0;
    case Kernel::kArea:
      return 0.5;
    case Kernel::kNearest:
      return 0.0;
  }
  return 0.0;
}

/// sin(πx) / (πx).
FW_HD inline double sinc(double x) {
  if (x == 0.0) return 1.0;
  const double t = 3.14159265358979323846 * x;
  return std::sin(t) / t;
}

/// Unnormalised weight at distance x. Not for kArea and kNearest, whose weights axis_filter derives
/// from overlap and position.
FW_HD inline double kernel_value(Kernel kernel, double x) {
  const double a = std::fabs(x);
  if (a >= kernel_support(kernel)) return 0.0;
  switch (kernel) {
    case Kernel::kLanczos3:
      return sinc(a) * sinc(a / 3.0);
    case Kernel::kBicubic:
      return a <= 1.0 ? (1.5 * a - 2.5) * a * a + 1.0 : ((-0.5 * a + 2.5) * a - 4.0) * a + 2.0;
    case Kernel::kBilinear:
      return 1.0 - a;
    default:
      return 1.0;
  }
}

}  // namespace framewire::transform
