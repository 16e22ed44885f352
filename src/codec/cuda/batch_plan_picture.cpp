// The planes of a batch's outputs: resampled, and where asked for converted, sharpened, turned and
// padded.
#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <codec/cuda/batch_plan.hpp>
#include <color/converter.hpp>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>

namespace framewire::codec::cuda {
namespace {

std::uint64_t align(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Source rows that the tallest tile of a plane needs, tiles being `height` rows high.
std::uint32_t rows_of_tiles(const DownFilter& filter, std::uint32_t height) {
  std::uint32_t most = 1;
  const std::uint32_t groups = height / kRowGroup;
  const auto count = static_cast<std::uint32_t>(filter.first.size());
  for (std::uint32_t g = 0; g < count; g += groups) {
    const std::uint32_t last = std::min(g + groups, count) - 1;
    most = std::max(most, filter.first[last] + filter.span - filter.first[g]);
  }
  return most;
}

}  // namespace

SampleView BatchPlan::new_plane(std::uint32_t width_px, std::uint32_t height_px) {
  const SampleView plane{sample_bytes_, width_px, height_px, (width_px + 15) / 16 * 16};
  sample_bytes_ += align(std::uint64_t{plane.pitch_bytes} * height_px + 64);
  return plane;
}

std::uint64_t BatchPlan::stage_once(std::span<const std::uint8_t> bytes) {
  const auto [staged, added] = staged_.try_emplace(bytes.data(), 0);
  if (added) staged->second = stage(bytes, 0);
  return staged->second;
}

/// In the order of codec/turbo: resample, convert and subsample, sharpen, turn, pad.
void BatchPlan::make_picture(const Item& item, EncodeDesc& desc) {
  const plan::Plan& plan = *item.plan;
  std::array<SampleView, 4> now{};
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(plan.plane_count); ++i)
    now[i] = add_resample(item, i);
  if (plan.color_path == plan::ColorPath::kConvert) add_convert(item, now);
  if (plan.sharpen_sigma > 0 && plan.encode.model != plan::OutputModel::kCmyk)
    add_sharpen(plan, now[0]);
  for (std::size_t c = 0; c < desc.plane_count; ++c) {
    if (plan.orientation != 1 || is_padded(plan))
      now[c] = add_place(plan, c, now[c], desc.planes[c]);
    desc.planes[c].samples = now[c].samples;
    desc.planes[c].pitch_bytes = now[c].pitch_bytes;
  }
}

SampleView BatchPlan::add_resample(const Item& item, std::uint32_t index) {
  const plan::PlanePlan& plane = item.plan->planes[index];
  PackedFilter& across = filter(true, item.plan->kernel, plane.x);
  const RowPart part = item.parts.empty() ? RowPart{} : item.parts[index];
  PackedFilter& down = filter(false, item.plan->kernel, plane.y, part);
  const PlaneDesc& source = planes[first_plane.back() + index];
  const SampleView target = new_plane(
      static_cast<std::uint32_t>(plane.x.out_size),
      static_cast<std::uint32_t>(part.out_count != 0 ? part.out_count : plane.y.out_size));
  ResampleDesc desc;
  desc.image = images;
  desc.source = source.samples;
  desc.source_pitch_bytes = source.pitch_bytes;
  desc.source_height_px = source.height_px;
  desc.target = target.samples;
  desc.target_pitch_bytes = target.pitch_bytes;
  desc.width_px = target.width_px;
  desc.height_px = target.height_px;
  desc.x_filter = across.index;
  desc.y_filter = down.index;
  add_resample_tiles(desc, down.down);
  resamples.push_back(desc);
  return target;
}

void BatchPlan::add_resample_tiles(ResampleDesc& desc, const DownFilter& down) {
  const auto owner = static_cast<std::uint32_t>(resamples.size());
  desc.tile_columns = base::ceil_div(desc.width_px, static_cast<std::uint32_t>(kTileWidth));
  desc.tile_height = kTileHeight;
  std::uint32_t rows = rows_of_tiles(down, desc.tile_height);
  while (rows > kTileSourceRows && desc.tile_height > kRowGroup) {
    desc.tile_height /= 2;
    rows = rows_of_tiles(down, desc.tile_height);
  }
  if (rows <= kTileSourceRows) {
    most_rows = std::max(most_rows, rows);
    const std::uint32_t tiles =
        desc.tile_columns * base::ceil_div(desc.height_px, desc.tile_height);
    for (std::uint32_t i = 0; i < tiles; ++i) resample_tiles.push_back({owner, i});
    return;
  }
  desc.rows = sample_bytes_;
  const std::uint64_t across = std::uint64_t{desc.source_height_px} * desc.width_px;
  sample_bytes_ += align(across * sizeof(float));
  for (std::uint32_t i = 0; std::uint64_t{i} * kLongThreads < across; ++i)
    long_across_tiles.push_back({owner, i});
  const std::uint32_t groups =
      base::ceil_div(desc.height_px, static_cast<std::uint32_t>(kRowGroup)) * desc.width_px;
  for (std::uint32_t i = 0; i * kLongThreads < groups; ++i) long_down_tiles.push_back({owner, i});
}

void BatchPlan::add_convert(const Item& item, std::array<SampleView, 4>& planes_now) {
  ConvertDesc desc = FinishPlan::make_convert(*item.file, *item.plan);
  desc.image = images;
  if (item.plan->convert_icc) {
    const color::PixelTable* table = item.converter->table();
    desc.how.table_kind = table->kind;
    desc.how.table = stage_once(table->bytes);
  }
  std::copy(planes_now.begin(), planes_now.end(), desc.in);
  const SampleView full = planes_now[0];
  for (std::uint32_t c = 0; c < desc.out_count; ++c)
    desc.out[c] = c == 0 ? new_plane(full.width_px, full.height_px)
                         : new_plane(desc.cell_columns, desc.cell_rows);
  std::copy_n(desc.out, 4, planes_now.begin());
  finish_stages.add_convert(desc);
}

void BatchPlan::add_sharpen(const plan::Plan& plan, SampleView& luma) {
  std::vector<float>& weights = gaussians_[plan.sharpen_sigma];
  if (weights.empty())
    for (const double weight : transform::gaussian_weights(plan.sharpen_sigma))
      weights.push_back(static_cast<float>(weight));
  SharpenDesc desc;
  desc.image = images;
  desc.source = luma;
  desc.target = new_plane(luma.width_px, luma.height_px);
  desc.radius = static_cast<std::uint32_t>(transform::gaussian_radius(plan.sharpen_sigma));
  desc.weights = stage_once(
      {reinterpret_cast<const std::uint8_t*>(weights.data()), weights.size() * sizeof(float)});
  finish_stages.add_sharpen(desc);
  luma = desc.target;
}

SampleView BatchPlan::add_place(const plan::Plan& plan, std::size_t component,
                                const SampleView& source, const EncodePlane& target) {
  const std::int32_t step_x = component == 0 ? 1 : plan.encode.h[0] / plan.encode.h[component];
  const std::int32_t step_y = component == 0 ? 1 : plan.encode.v[0] / plan.encode.v[component];
  PlaceDesc desc;
  desc.image = images;
  desc.source = source;
  desc.target = new_plane(target.width_px, target.height_px);
  desc.orientation = static_cast<std::uint32_t>(plan.orientation);
  const bool swapped = transform::swaps_axes(plan.orientation);
  desc.width_px = swapped ? source.height_px : source.width_px;
  desc.height_px = swapped ? source.width_px : source.height_px;
  if (is_padded(plan)) {
    desc.left = static_cast<std::uint32_t>(plan.placement.x / step_x);
    desc.top = static_cast<std::uint32_t>(plan.placement.y / step_y);
  }
  desc.fill = background_samples(plan)[component];
  finish_stages.add_place(desc);
  return desc.target;
}

}  // namespace framewire::codec::cuda
