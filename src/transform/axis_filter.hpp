// Turns a kernel and an axis map into taps: which input samples make each output sample.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <transform/axis_taps.hpp>
#include <vector>

namespace framewire::transform {

/// Taps of every output sample of one axis; weights of one output sample sum to 1.
struct AxisFilter {
  std::int32_t taps = 0;            ///< stride of `weights`: the longest run
  std::vector<std::int32_t> first;  ///< [out_size] first input sample, 0 ≤ first ≤ in_size − count
  std::vector<std::int32_t> count;  ///< [out_size] number of taps, 1 to taps
  std::vector<double> weights;      ///< [out_size][taps]; beyond count: 0
};

/// Builds the taps. Kernels are stretched by max(1, step); taps outside the input fold onto the
/// edge sample, which is what repeating the edge would give. kArea weighs by overlap with [centre −
/// step/2, centre + step/2) and, enlarging, becomes kBilinear; kNearest takes the sample under the
/// centre.
/// @param geometry  in_size, out_size ≥ 1; step > 0
/// @accuracy weights sum to 1 within 1e−12; tests/unit/transform/axis_filter_test.cpp
/// @cost out_size × taps kernel evaluations; allocates the result
[[nodiscard]] AxisFilter make_axis_filter(Kernel kernel, const AxisGeometry& geometry);

}  // namespace framewire::transform
