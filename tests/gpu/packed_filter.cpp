#include <codec/cuda/tuning.h>
#include <algorithm>
#include <cmath>
#include <tests/gpu/packed_filter.hpp>
#include <transform/axis_filter.hpp>

namespace framewire::gpu_tests {
namespace {

using codec::cuda::kRowGroup;
using codec::cuda::RowPart;

constexpr double kOne = 16384.0;  // 1 in the fixed point of PackedAcross

transform::AxisFilter make_filter(Kernel kernel, const plan::AxisMap& axis) {
  return transform::make_axis_filter(kernel, {axis.in_size, axis.out_size, axis.origin, axis.step});
}

/// The taps of some output samples; positions count from the first input sample of `part`.
transform::AxisFilter part_of(const transform::AxisFilter& whole, const RowPart& part) {
  transform::AxisFilter filter;
  filter.taps = whole.taps;
  const auto from = static_cast<std::size_t>(part.out_first);
  const auto end = from + static_cast<std::size_t>(part.out_count);
  for (std::size_t i = from; i < end; ++i) {
    filter.first.push_back(whole.first[i] - part.in_first);
    filter.count.push_back(whole.count[i]);
  }
  const auto weights = whole.weights.begin();
  const auto taps = static_cast<std::ptrdiff_t>(whole.taps);
  filter.weights.assign(weights + static_cast<std::ptrdiff_t>(from) * taps,
                        weights + static_cast<std::ptrdiff_t>(end) * taps);
  return filter;
}

/// Rounds a run of weights to integers that sum to 16384; the largest takes the remainder.
void round_weights(const double* weights, std::int32_t count, std::vector<std::int32_t>& out) {
  out.resize(static_cast<std::size_t>(count));
  std::int32_t sum = 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::int32_t>(std::lround(weights[i] * kOne));
    sum += out[i];
    if (out[i] > out[largest]) largest = i;
  }
  out[largest] += static_cast<std::int32_t>(kOne) - sum;
}

}  // namespace

PackedAcross pack_across(Kernel kernel, const plan::AxisMap& axis) {
  const transform::AxisFilter filter = make_filter(kernel, axis);
  PackedAcross packed;
  const auto out_size = static_cast<std::size_t>(axis.out_size);
  for (std::size_t i = 0; i < out_size; ++i) {
    const std::int32_t reach = filter.first[i] % 4 + filter.count[i];
    packed.words = std::max(packed.words, static_cast<std::uint32_t>((reach + 3) / 4));
    packed.first.push_back(static_cast<std::uint32_t>(filter.first[i] / 4 * 4));
  }
  // No run may reach beyond the last word of its row: the memory behind may belong to somebody
  // else.
  const std::int32_t last_first =
      (axis.in_size + 3) / 4 * 4 - static_cast<std::int32_t>(packed.words) * 4;
  for (std::uint32_t& first : packed.first) {
    first = std::min(first, static_cast<std::uint32_t>(last_first));
  }
  packed.weights.assign(out_size * packed.words * 2, 0);
  std::vector<std::int32_t> run;
  for (std::size_t i = 0; i < out_size; ++i) {
    round_weights(&filter.weights[i * static_cast<std::size_t>(filter.taps)], filter.count[i], run);
    std::uint32_t* words = &packed.weights[i * packed.words * 2];
    for (std::size_t k = 0; k < run.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(filter.first[i]) - packed.first[i] + k;
      const auto weight = static_cast<std::uint32_t>(run[k]);
      words[at / 4 * 2] |= (weight >> 8 & 0xFF) << (at % 4 * 8);
      words[at / 4 * 2 + 1] |= (weight & 0xFF) << (at % 4 * 8);
    }
  }
  return packed;
}

PackedDown pack_down(Kernel kernel, const plan::AxisMap& axis, const RowPart& part) {
  transform::AxisFilter filter = make_filter(kernel, axis);
  if (part.out_count != 0) filter = part_of(filter, part);
  const std::int32_t in_size = part.out_count != 0 ? part.in_count : axis.in_size;
  const std::size_t out_size = filter.first.size();
  const auto taps = static_cast<std::size_t>(filter.taps);
  const auto last_of = [&](std::size_t group) {
    return std::min((group + 1) * kRowGroup, out_size) - 1;
  };
  const std::size_t groups = (out_size + kRowGroup - 1) / kRowGroup;
  std::int32_t span = 1;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t last = last_of(g);
    span = std::max(span, filter.first[last] + filter.count[last] - filter.first[g * kRowGroup]);
  }
  PackedDown packed;
  packed.span = static_cast<std::uint32_t>(span);
  packed.weights.assign(groups * static_cast<std::size_t>(span) * kRowGroup, 0.f);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int32_t first = std::min(filter.first[g * kRowGroup], in_size - span);
    packed.first.push_back(static_cast<std::uint32_t>(first));
    for (std::size_t j = g * kRowGroup; j <= last_of(g); ++j) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(filter.count[j]); ++k) {
        const auto row = static_cast<std::size_t>(filter.first[j] - first) + k;
        packed.weights[(g * packed.span + row) * kRowGroup + j % kRowGroup] =
            static_cast<float>(filter.weights[j * taps + k] / kOne);
      }
    }
  }
  return packed;
}

}  // namespace framewire::gpu_tests
