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

/// sinc(x) · sinc(x/3) for |x| < 3, sinc(x) being sin(πx) / (πx).
///
/// One polynomial of sinc(x/3) is enough: by the triple-angle formula, sinc(x) is
/// sinc(x/3) · (1 − ⁴⁄₃ sin²(πx/3)). Nothing but sums and products, so that a GPU gives the bits
/// that a CPU gives: their sines differ in the last place. Two chains of half the length, since a
/// GPU waits for each product.
/// @accuracy within 1e−15; tests/unit/transform/axis_filter_test.cpp
FW_HD inline double lanczos3(double x) {
  const double v = x * x;
  const double w = v * v;
  // Interpolates sinc(√v / 3) at the Chebyshev nodes of 0 to 9.
  double even = 4.899625394374617e-20;
  even = even * w + 5.880136155689824e-15;
  even = even * w + 2.7929495978669545e-10;
  even = even * w + 3.985344889138831e-06;
  even = even * w + 0.010021511423251278;
  even = even * w + 1.0;
  double odd = -9.66474202634951e-23;
  odd = odd * w - 1.8851592685095568e-17;
  odd = odd * w - 1.4584817361961057e-12;
  odd = odd * w - 3.973108833969742e-08;
  odd = odd * w - 0.0002616623101811834;
  odd = odd * w - 0.18277045187202515;
  const double third = even + v * odd;
  const double square = third * third;
  constexpr double kFactor = 1.4621636149762012;  // 4π² / 27
  return square * (1.0 - kFactor * v * square);
}

/// Unnormalised weight at distance x. Not for kArea and kNearest, whose weights axis_filter derives
/// from overlap and position.
FW_HD inline double kernel_value(Kernel kernel, double x) {
  const double a = std::fabs(x);
  if (a >= kernel_support(kernel)) return 0.0;
  switch (kernel) {
    case Kernel::kLanczos3:
      return lanczos3(a);
    case Kernel::kBicubic:
      return a <= 1.0 ? (1.5 * a - 2.5) * a * a + 1.0 : ((-0.5 * a + 2.5) * a - 4.0) * a + 2.0;
    case Kernel::kBilinear:
      return 1.0 - a;
    default:
      return 1.0;
  }
}

}  // namespace framewire::transform
