// The taps of one output sample where nothing outside of the input may count: crops of training
// frameworks. For host and device alike.
//
// Source: Pillow's and torch's antialiased resize (weights behind the edge are dropped, the rest is
// made to sum to one); torch.nn.functional.interpolate(align_corners=False) without antialiasing
// (the edge is repeated, cubic a = −0.75; R. Keys, 1981).
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <cstdint>
#include <framewire/options.hpp>
#include <transform/axis_taps.hpp>

namespace framewire::transform {

/// What all output samples of an axis share.
struct CropTaps {
  AxisTaps taps;
  bool antialias = true;  ///< stretch the kernel where samples are left out, and cut it at the edge
};

/// @param kernel  without antialiasing kBilinear or kBicubic
FW_HD inline CropTaps make_crop_taps(Kernel kernel, const AxisGeometry& geometry, bool antialias) {
  CropTaps crop{make_axis_taps(kernel, geometry), antialias};
  if (!antialias) {
    crop.taps.scale = crop.taps.inverse_scale = 1.0;
    crop.taps.radius = kernel_support(crop.taps.kernel);
  }
  return crop;
}

/// Keys' cubic with a = −0.75.
FW_HD inline double sharp_cubic(double x) {
  constexpr double kA = -0.75;
  const double d = std::fabs(x);
  if (d <= 1.0) return ((kA + 2.0) * d - (kA + 3.0)) * d * d + 1.0;
  return d < 2.0 ? ((kA * d - 5.0 * kA) * d + 8.0 * kA) * d - 4.0 * kA : 0.0;
}

/// The weight of input sample `k`, before all of them are made to sum to 1.
FW_HD inline double crop_tap_weight(const CropTaps& crop, double centre, std::int64_t k) {
  if (!crop.antialias && crop.taps.kernel == Kernel::kBicubic) {
    return sharp_cubic(static_cast<double>(k) + 0.5 - centre);
  }
  return tap_weight(crop.taps, centre, k);
}

/// Calls emit(index, weight) for each sample of the run of an output sample, index 0 being
/// run.first, in ascending order. Weights sum to 1.
template <typename Emit>
FW_HD inline void for_each_crop_tap(const CropTaps& crop, const TapRun& run, Emit&& emit) {
  const std::int64_t last = std::int64_t{run.first} + run.count - 1;
  const std::int64_t begin = crop.antialias ? run.first : run.begin;
  const std::int64_t end = crop.antialias ? last + 1 : run.end;
  double sum = 0.0;
  for (std::int64_t k = begin; k < end; ++k) sum += crop_tap_weight(crop, run.centre, k);
  const double inverse_sum = 1.0 / sum;
  double weight = 0.0;
  for (std::int64_t k = begin; k < end; ++k) {
    weight += crop_tap_weight(crop, run.centre, k);
    const std::int64_t at = clamp_tap(k, run.first, last);
    if (k + 1 < end && clamp_tap(k + 1, run.first, last) == at) continue;  // repeats the edge
    emit(static_cast<std::int32_t>(at - run.first), weight * inverse_sum);
    weight = 0.0;
  }
}

}  // namespace framewire::transform
