#include <algorithm>
#include <cmath>
#include <transform/axis_filter.hpp>
#include <transform/kernels.hpp>

namespace framewire::transform {
namespace {

/// The weight of input sample `k` for the output sample centred at `centre`.
double tap_weight(Kernel kernel, double centre, double scale, std::int64_t k) {
  if (kernel == Kernel::kArea) {
    const double lo = std::max(static_cast<double>(k), centre - 0.5 * scale);
    const double hi = std::min(static_cast<double>(k) + 1.0, centre + 0.5 * scale);
    return std::max(0.0, hi - lo);
  }
  return kernel_value(kernel, (static_cast<double>(k) + 0.5 - centre) / scale);
}

}  // namespace

AxisFilter make_axis_filter(Kernel kernel, const AxisGeometry& geometry) {
  const auto in = static_cast<std::int64_t>(geometry.in_size);
  const double scale = std::max(1.0, geometry.step);
  if (kernel == Kernel::kArea && geometry.step < 1.0) kernel = Kernel::kBilinear;
  const double radius = kernel_support(kernel) * scale;

  AxisFilter filter;
  filter.first.resize(geometry.out_size);
  filter.count.resize(geometry.out_size);
  const auto longest = static_cast<std::int64_t>(std::ceil(2.0 * radius)) + 2;
  filter.taps = static_cast<std::int32_t>(std::min(longest, in));
  filter.weights.assign(static_cast<std::size_t>(geometry.out_size) * filter.taps, 0.0);

  std::int32_t used = 1;
  for (std::int32_t j = 0; j < geometry.out_size; ++j) {
    double* row = &filter.weights[static_cast<std::size_t>(j) * filter.taps];
    const double centre = geometry.origin + (j + 0.5) * geometry.step;
    if (kernel == Kernel::kNearest) {
      const auto k = static_cast<std::int64_t>(std::floor(centre));
      filter.first[j] = static_cast<std::int32_t>(std::clamp<std::int64_t>(k, 0, in - 1));
      filter.count[j] = 1;
      row[0] = 1.0;
      continue;
    }
    const auto lo = static_cast<std::int64_t>(std::floor(centre - radius));
    const auto hi = static_cast<std::int64_t>(std::ceil(centre + radius));
    const std::int64_t first = std::clamp<std::int64_t>(lo, 0, in - 1);
    const std::int64_t last = std::clamp<std::int64_t>(hi - 1, first, in - 1);
    double sum = 0.0;
    for (std::int64_t k = lo; k < hi; ++k) {
      const double w = tap_weight(kernel, centre, scale, k);
      row[std::clamp(k, first, last) - first] += w;
      sum += w;
    }
    for (std::int64_t i = 0; i <= last - first; ++i) row[i] /= sum;
    filter.first[j] = static_cast<std::int32_t>(first);
    filter.count[j] = static_cast<std::int32_t>(last - first + 1);
    used = std::max(used, filter.count[j]);
  }
  if (used < filter.taps) {  // pack to the longest run that occurs
    for (std::int32_t j = 0; j < geometry.out_size; ++j) {
      std::copy_n(&filter.weights[static_cast<std::size_t>(j) * filter.taps], used,
                  &filter.weights[static_cast<std::size_t>(j) * used]);
    }
    filter.weights.resize(static_cast<std::size_t>(geometry.out_size) * used);
    filter.taps = used;
  }
  return filter;
}

}  // namespace framewire::transform
