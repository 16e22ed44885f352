#include <algorithm>
#include <cmath>
#include <transform/axis_filter.hpp>

namespace framewire::transform {

AxisFilter make_axis_filter(Kernel kernel, const AxisGeometry& geometry) {
  const AxisTaps taps = make_axis_taps(kernel, geometry);
  AxisFilter filter;
  filter.first.resize(geometry.out_size);
  filter.count.resize(geometry.out_size);
  const auto longest = static_cast<std::int64_t>(std::ceil(2.0 * taps.radius)) + 2;
  filter.taps = static_cast<std::int32_t>(std::min<std::int64_t>(longest, geometry.in_size));
  filter.weights.assign(static_cast<std::size_t>(geometry.out_size) * filter.taps, 0.0);

  std::int32_t used = 1;
  for (std::int32_t j = 0; j < geometry.out_size; ++j) {
    double* row = &filter.weights[static_cast<std::size_t>(j) * filter.taps];
    const TapRun run = tap_run(taps, j);
    for_each_tap(taps, run, [&](std::int32_t index, double weight) { row[index] = weight; });
    filter.first[j] = run.first;
    filter.count[j] = run.count;
    used = std::max(used, run.count);
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
