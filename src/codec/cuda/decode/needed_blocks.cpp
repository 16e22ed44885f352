#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/decode/needed_blocks.hpp>
#include <transform/axis_taps.hpp>

namespace framewire::codec::cuda {
namespace {

/// Samples on either side of those with a weight that kernels may read.
constexpr std::int64_t kMargin = 8;

struct BlockRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// Blocks of `side` samples that samples from `first` to before `end` lie in.
BlockRange range_of(std::int64_t first, std::int64_t end, std::int64_t side, std::int32_t blocks) {
  const auto low = std::max<std::int64_t>(0, first - kMargin) / side;
  const auto high = std::min<std::int64_t>(blocks, base::ceil_div(end + kMargin, side));
  return {static_cast<std::uint32_t>(std::min(low, high)), static_cast<std::uint32_t>(high)};
}

/// Blocks that an axis of a plan's plane reads. @param side  samples of a block at its scale
BlockRange range_of(const plan::AxisMap& map, Kernel kernel, int side, std::int32_t blocks) {
  const transform::AxisTaps taps =
      transform::make_axis_taps(kernel, {map.in_size, map.out_size, map.origin, map.step});
  const transform::TapRun first = transform::tap_run(taps, 0);
  const transform::TapRun last = transform::tap_run(taps, map.out_size - 1);
  return range_of(first.first, std::int64_t{last.first} + last.count, side, blocks);
}

/// Blocks that pixels from `first` to before `end` lie in, of a component with h samples for h_max
/// pixels, and one block on either side, of which chroma's neighbours are made.
BlockRange range_of(std::int32_t first, std::int32_t end, int h, int h_max, std::int32_t blocks) {
  constexpr std::int64_t kBlock = 8;
  return range_of(std::int64_t{first} * h / h_max - kBlock,
                  base::ceil_div(std::int64_t{end} * h, std::int64_t{h_max}) + kBlock, kBlock,
                  blocks);
}

}  // namespace

BlockRect needed_blocks(const Item& item, std::size_t component) {
  const jpeg::FrameHeader& frame = item.file->frame;
  const jpeg::Component& geometry = frame.components[component];
  if (item.plan != nullptr) {
    for (const plan::PlanePlan& plane :
         std::span(item.plan->planes).first(static_cast<std::size_t>(item.plan->plane_count))) {
      if (static_cast<std::size_t>(plane.component) != component) continue;
      const int side = item.plan->scales[component];
      const Kernel kernel = item.plan->kernel;
      const BlockRange x = range_of(plane.x, kernel, side, geometry.width_blocks);
      const BlockRange y = range_of(plane.y, kernel, side, geometry.height_blocks);
      return {x.first, x.end, y.first, y.end};
    }
    return {};
  }
  if (item.needed_pixels.width == 0) {
    return {0, static_cast<std::uint32_t>(geometry.width_blocks), 0,
            static_cast<std::uint32_t>(geometry.height_blocks)};
  }
  const plan::Rect& part = item.needed_pixels;
  const BlockRange x =
      range_of(part.x, part.x + part.width, geometry.h, frame.h_max, geometry.width_blocks);
  const BlockRange y =
      range_of(part.y, part.y + part.height, geometry.v, frame.v_max, geometry.height_blocks);
  return {x.first, x.end, y.first, y.end};
}

BlockRect needed_mcus(const jpeg::FrameHeader& frame, const jpeg::Scan& scan,
                      std::span<const BlockRect, jpeg::kMaxComponents> needed) {
  const auto count = static_cast<std::size_t>(scan.component_count);
  BlockRect mcus{UINT32_MAX, 0, UINT32_MAX, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = scan.component[i];
    const BlockRect& blocks = needed[c];
    if (blocks.empty()) continue;
    const auto h = static_cast<std::uint32_t>(count == 1 ? 1 : frame.components[c].h);
    const auto v = static_cast<std::uint32_t>(count == 1 ? 1 : frame.components[c].v);
    mcus.first_column = std::min(mcus.first_column, blocks.first_column / h);
    mcus.end_column = std::max(mcus.end_column, base::ceil_div(blocks.end_column, h));
    mcus.first_row = std::min(mcus.first_row, blocks.first_row / v);
    mcus.end_row = std::max(mcus.end_row, base::ceil_div(blocks.end_row, v));
  }
  return mcus.end_row == 0 ? BlockRect{} : mcus;
}

}  // namespace framewire::codec::cuda
