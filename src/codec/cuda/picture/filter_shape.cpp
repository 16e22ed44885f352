#include <algorithm>
#include <cmath>
#include <codec/cuda/picture/filter_shape.hpp>

namespace framewire::codec::cuda {

std::uint32_t across_words(const transform::AxisTaps& taps) {
  const std::int64_t all = (std::int64_t{taps.geometry.in_size} + 3) / 4;
  const bool nearest = taps.kernel == Kernel::kNearest;
  // Taps at any place between samples, and in front of them up to three samples that fill the first
  // word.
  const double run = nearest ? 1.0 : std::ceil(2.0 * taps.radius) + 1.0;
  const auto longest = static_cast<std::int64_t>((3.0 + run + 3.0) / 4.0);
  return static_cast<std::uint32_t>(std::min(all, longest));
}

DownRows make_down_rows(Kernel kernel, const plan::AxisMap& axis, const RowPart& part) {
  DownRows rows;
  rows.taps = axis_taps(kernel, axis);
  rows.part = part.out_count != 0 ? part : RowPart{0, axis.out_size, 0, axis.in_size};
  const std::int32_t end = rows.part.out_first + rows.part.out_count;
  std::int32_t span = 1;
  for (std::int32_t row = rows.part.out_first; row < end; row += kRowGroup) {
    const transform::TapRun last =
        transform::tap_run(rows.taps, std::min(row + kRowGroup, end) - 1);
    span = std::max(span, last.first + last.count - transform::tap_run(rows.taps, row).first);
  }
  rows.span = static_cast<std::uint32_t>(span);
  return rows;
}

std::uint32_t rows_of_tiles(const DownRows& rows, std::uint32_t height) {
  const std::uint32_t in_tile = height / kRowGroup;
  const std::uint32_t groups = rows.groups();
  std::uint32_t most = 1;
  for (std::uint32_t group = 0; group < groups; group += in_tile) {
    const std::uint32_t last = std::min(group + in_tile, groups) - 1;
    most = std::max(most, rows.first_of(last) + rows.span - rows.first_of(group));
  }
  return most;
}

}  // namespace framewire::codec::cuda
