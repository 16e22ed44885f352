// Sizes of resampling filters: what the host must know of weights that a device makes.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>
#include <plan/plan.hpp>
#include <transform/axis_taps.hpp>

namespace framewire::codec::cuda {

/// Some rows of a resampled plane, and the source rows that they are made of. The default means all
/// rows of both.
struct RowPart {
  std::int32_t out_first = 0;
  std::int32_t out_count = 0;  ///< 0: all
  std::int32_t in_first = 0;
  std::int32_t in_count = 0;

  friend bool operator==(const RowPart&, const RowPart&) = default;
};

[[nodiscard]] inline transform::AxisTaps axis_taps(Kernel kernel, const plan::AxisMap& axis) {
  return transform::make_axis_taps(kernel, {axis.in_size, axis.out_size, axis.origin, axis.step});
}

/// Words of 4 samples that hold the run of any output sample along a row. Where rounding makes a
/// run reach beyond them, the weights behind are those at the kernel's very edge, which round to 0.
[[nodiscard]] std::uint32_t across_words(const transform::AxisTaps& taps);

/// A filter along columns, which makes kRowGroup output rows together from a run of source rows.
struct DownRows {
  transform::AxisTaps taps;
  RowPart part;            ///< of the output rows that are made; out_count is never 0
  std::uint32_t span = 1;  ///< source rows of a group's run

  [[nodiscard]] FW_HD std::uint32_t groups() const {
    return (static_cast<std::uint32_t>(part.out_count) + kRowGroup - 1) / kRowGroup;
  }
  /// The first source row of a group's run, counted from in_first. The run ends inside the input.
  [[nodiscard]] FW_HD std::uint32_t first_of(std::uint32_t group) const {
    const std::int32_t row = part.out_first + static_cast<std::int32_t>(group * kRowGroup);
    const std::int32_t first = transform::tap_run(taps, row).first - part.in_first;
    const std::int32_t last = part.in_count - static_cast<std::int32_t>(span);
    return static_cast<std::uint32_t>(first < last ? first : last);
  }
};

/// @param part  its input holds all rows that the filter of its output rows reaches
/// @cost a few operations a group of rows
[[nodiscard]] DownRows make_down_rows(Kernel kernel, const plan::AxisMap& axis,
                                      const RowPart& part = {});

/// Source rows that a tile of `height` output rows needs at most. @param height  of kRowGroup
[[nodiscard]] std::uint32_t rows_of_tiles(const DownRows& rows, std::uint32_t height);

}  // namespace framewire::codec::cuda
