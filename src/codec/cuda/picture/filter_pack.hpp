// Axis filters in the order in which the resampling kernels read them.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>
#include <plan/plan.hpp>
#include <vector>

namespace framewire::codec::cuda {

/// Filter along rows. Runs of samples are rounded out to aligned groups of 4; weights are in
/// 1/16384.
struct AcrossFilter {
  std::uint32_t words = 0;             ///< groups of 4 samples for each output sample
  std::vector<std::uint32_t> first;    ///< [out] multiple of 4
  std::vector<std::uint32_t> weights;  ///< [out][words][2]: 4 signed high bytes, 4 low bytes
};

/// Filter along columns, for kRowGroup output samples together: for each source sample of their
/// common run, its weights in all of them. Weights are scaled by 1/16384 to undo the scale of the
/// other pass.
struct DownFilter {
  std::uint32_t span = 0;            ///< source samples of a group's run
  std::vector<std::uint32_t> first;  ///< [groups] first + span ≤ the axis' size
  std::vector<float> weights;        ///< [groups][span][kRowGroup]
};

/// Some rows of a resampled plane, and the source rows that they are made of. The default means all
/// rows of both.
struct RowPart {
  std::int32_t out_first = 0;
  std::int32_t out_count = 0;  ///< 0: all
  std::int32_t in_first = 0;
  std::int32_t in_count = 0;
};

/// @param part  of the whole filter's outputs; its input holds all rows that their weights reach
/// @accuracy each weight within 2^-15, their sum exact; tests/unit/codec/cuda
[[nodiscard]] AcrossFilter pack_across(Kernel kernel, const plan::AxisMap& axis);
[[nodiscard]] DownFilter pack_down(Kernel kernel, const plan::AxisMap& axis,
                                   const RowPart& part = {});

}  // namespace framewire::codec::cuda
