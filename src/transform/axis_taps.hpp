// The taps of one output sample of a resampled axis, for host and device alike: which input samples
// it is made of, and how much of each.
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <cstdint>
#include <framewire/options.hpp>
#include <transform/kernels.hpp>

namespace framewire::transform {

/// Where output samples lie among input samples; see plan::AxisMap, of which this is the
/// arithmetic part.
struct AxisGeometry {
  std::int32_t in_size = 0;
  std::int32_t out_size = 0;
  double origin = 0;
  double step = 1;

  friend bool operator==(const AxisGeometry&, const AxisGeometry&) = default;
};

/// What all output samples of an axis share.
struct AxisTaps {
  AxisGeometry geometry;
  Kernel kernel = Kernel::kLanczos3;
  double scale = 1;  ///< of the kernel: max(1, step)
  double inverse_scale = 1;
  double radius = 0;  ///< of the stretched kernel, in input samples
};

/// kArea becomes kBilinear where it enlarges.
FW_HD inline AxisTaps make_axis_taps(Kernel kernel, const AxisGeometry& geometry) {
  AxisTaps taps;
  taps.geometry = geometry;
  taps.kernel = kernel == Kernel::kArea && geometry.step < 1.0 ? Kernel::kBilinear : kernel;
  taps.scale = geometry.step > 1.0 ? geometry.step : 1.0;
  taps.inverse_scale = 1.0 / taps.scale;
  taps.radius = kernel_support(taps.kernel) * taps.scale;
  return taps;
}

/// The input samples of one output sample.
struct TapRun {
  double centre = 0;
  std::int64_t begin = 0;  ///< that the kernel reaches; they may lie outside of the input
  std::int64_t end = 0;
  std::int32_t first = 0;  ///< that have a weight: those inside, and an edge that others fold onto
  std::int32_t count = 0;  ///< at least 1; first + count ≤ in_size
};

FW_HD inline std::int64_t clamp_tap(std::int64_t at, std::int64_t low, std::int64_t high) {
  return at < low ? low : at > high ? high : at;
}

/// The run of output sample `j`.
FW_HD inline TapRun tap_run(const AxisTaps& taps, std::int32_t j) {
  TapRun run;
  run.centre = taps.geometry.origin + (j + 0.5) * taps.geometry.step;
  if (taps.kernel == Kernel::kNearest) {
    run.begin = static_cast<std::int64_t>(std::floor(run.centre));
    run.end = run.begin + 1;
  } else {
    run.begin = static_cast<std::int64_t>(std::floor(run.centre - taps.radius));
    run.end = static_cast<std::int64_t>(std::ceil(run.centre + taps.radius));
  }
  const std::int64_t most = std::int64_t{taps.geometry.in_size} - 1;
  const std::int64_t first = clamp_tap(run.begin, 0, most);
  run.first = static_cast<std::int32_t>(first);
  run.count = static_cast<std::int32_t>(clamp_tap(run.end - 1, first, most) - first + 1);
  return run;
}

/// The weight of input sample `k` for an output sample, before all of them are made to sum to 1.
FW_HD inline double tap_weight(const AxisTaps& taps, double centre, std::int64_t k) {
  const auto at = static_cast<double>(k);
  if (taps.kernel == Kernel::kNearest) return 1.0;
  if (taps.kernel != Kernel::kArea) {
    return kernel_value(taps.kernel, (at + 0.5 - centre) * taps.inverse_scale);
  }
  const double low = centre - 0.5 * taps.scale;
  const double high = centre + 0.5 * taps.scale;
  const double overlap = (at + 1.0 < high ? at + 1.0 : high) - (at > low ? at : low);
  return overlap > 0.0 ? overlap : 0.0;
}

/// Sum of the weights of a run, in the order of its samples: other orders round otherwise.
FW_HD inline double tap_sum(const AxisTaps& taps, const TapRun& run) {
  double sum = 0.0;
  for (std::int64_t k = run.begin; k < run.end; ++k) sum += tap_weight(taps, run.centre, k);
  return sum;
}

/// Calls emit(index, weight) for each sample of a run, index 0 being run.first, in ascending order.
/// Weights sum to 1; those of samples outside the input are added to the edge's.
template <typename Emit>
FW_HD inline void for_each_tap(const AxisTaps& taps, const TapRun& run, Emit&& emit) {
  const double inverse_sum = 1.0 / tap_sum(taps, run);
  const std::int64_t first = run.first;
  const std::int64_t last = first + run.count - 1;
  double weight = 0.0;
  for (std::int64_t k = run.begin; k < run.end; ++k) {
    weight += tap_weight(taps, run.centre, k);
    const std::int64_t at = clamp_tap(k, first, last);
    if (k + 1 < run.end && clamp_tap(k + 1, first, last) == at) continue;  // folds onto the same
    emit(static_cast<std::int32_t>(at - first), weight * inverse_sum);
    weight = 0.0;
  }
}

}  // namespace framewire::transform
