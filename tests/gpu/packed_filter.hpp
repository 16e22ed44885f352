// Filters as the resampling kernels read them, made from whole rows of weights on the host: the
// plain twin of codec/cuda/picture/filter_weights.cu.
#pragma once

#include <codec/cuda/picture/filter_shape.hpp>
#include <cstdint>
#include <framewire/options.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::gpu_tests {

/// As AcrossDesc describes it.
struct PackedAcross {
  std::uint32_t words = 0;             ///< of 4 samples; as few as the longest run needs
  std::vector<std::uint32_t> first;    ///< [out]
  std::vector<std::uint32_t> weights;  ///< [out][words][2]
};
/// As DownDesc describes it.
struct PackedDown {
  std::uint32_t span = 0;
  std::vector<std::uint32_t> first;  ///< [groups]
  std::vector<float> weights;        ///< [groups][span][kRowGroup]
};

[[nodiscard]] PackedAcross pack_across(Kernel kernel, const plan::AxisMap& axis);
[[nodiscard]] PackedDown pack_down(Kernel kernel, const plan::AxisMap& axis,
                                   const codec::cuda::RowPart& part = {});

}  // namespace framewire::gpu_tests
