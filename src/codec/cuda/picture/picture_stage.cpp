#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <codec/cuda/picture/filter_weights.hpp>
#include <codec/cuda/picture/picture_stage.hpp>
#include <codec/cuda/picture/post_process.hpp>
#include <codec/cuda/picture/resample.hpp>
#include <codec/cuda/picture/resample_long.hpp>
#include <color/converter.hpp>
#include <color/shaper.hpp>
#include <transform/color.hpp>
#include <transform/orient.hpp>
#include <transform/sharpen.hpp>
#include <utility>

namespace framewire::codec::cuda {
namespace {

constexpr auto kSquare = static_cast<std::uint32_t>(kPostProcessTile);

template <typename T>
gpu::Slice<T> add_late(gpu::Arena& arena, std::uint64_t count) {
  return arena.add<T>(gpu::Part::kLate, count, gpu::kVectorAlignment);
}

/// Adds square tiles that cover a plane. @return how many lie side by side
std::uint32_t add_squares(TileList& tiles, std::uint32_t owner, std::uint32_t width_px,
                          std::uint32_t height_px) {
  const std::uint32_t columns = base::ceil_div(width_px, kSquare);
  tiles.add_parts(owner, columns * base::ceil_div(height_px, kSquare));
  return columns;
}

/// Where a grid of `step` pixels begins along an axis. If the axis is `flipped`, the incomplete
/// cell lies at the displayed end, so the grid begins before 0.
std::int32_t grid_shift(bool flipped, std::int32_t size, std::int32_t step) {
  return flipped ? -((step - size % step) % step) : 0;
}

/// Geometry and arithmetic of a conversion.
ConvertDesc describe_conversion(const jpeg::JpegFile& file, const plan::Plan& plan) {
  ConvertDesc desc;
  desc.how.input = static_cast<PixelModel>(file.color_model);
  desc.how.inverted = file.adobe_transform.has_value() ? 1 : 0;
  desc.how.keep_cmyk = plan.encode.model == plan::OutputModel::kCmyk ? 1 : 0;
  desc.in_count = static_cast<std::uint32_t>(plan.plane_count);
  desc.out_count = static_cast<std::uint32_t>(plan.encode.component_count);
  std::int32_t step_x = plan.encode.h[0];
  std::int32_t step_y = plan.encode.v[0];
  if (transform::swaps_axes(plan.orientation)) std::swap(step_x, step_y);
  const transform::PixelPosition first = transform::stored_position(
      plan.orientation, {0, 0}, plan.resized_width_px, plan.resized_height_px);
  desc.step_x = static_cast<std::uint32_t>(step_x);
  desc.step_y = static_cast<std::uint32_t>(step_y);
  desc.shift_x = grid_shift(first.x != 0, plan.resized_width_px, step_x);
  desc.shift_y = grid_shift(first.y != 0, plan.resized_height_px, step_y);
  desc.cell_columns = static_cast<std::uint32_t>(base::ceil_div(plan.resized_width_px, step_x));
  desc.cell_rows = static_cast<std::uint32_t>(base::ceil_div(plan.resized_height_px, step_y));
  return desc;
}

}  // namespace

AcrossDesc AcrossPlan::resolve(const gpu::Memory& device) const {
  return {device.at(first), device.at(weights), desc.run, desc.taps};
}

DownDesc DownPlan::resolve(const gpu::Memory& device) const {
  return {device.at(first), device.at(weights), desc.rows};
}

ResampleDesc ResamplePlan::resolve(const gpu::Memory& device) const {
  ResampleDesc resample = desc;
  resample.source = source.resolve(device).samples;
  resample.target = target.resolve(device).samples;
  resample.rows = device.at_or_null(rows);
  return resample;
}

ConvertDesc ConvertPlan::resolve(const gpu::Memory& device) const {
  ConvertDesc convert = desc;
  for (std::size_t c = 0; c < in.size(); ++c) {
    convert.in[c] = in[c].resolve(device);
    convert.out[c] = out[c].resolve(device);
  }
  convert.table = device.at_or_null(table);
  convert.samples = device.at_or_null(samples);
  return convert;
}

SharpenDesc SharpenPlan::resolve(const gpu::Memory& device) const {
  SharpenDesc sharpen = desc;
  sharpen.source = source.resolve(device);
  sharpen.target = target.resolve(device);
  sharpen.weights = device.at(weights);
  return sharpen;
}

PlaceDesc PlacePlan::resolve(const gpu::Memory& device) const {
  PlaceDesc place = desc;
  place.source = source.resolve(device);
  place.target = target.resolve(device);
  return place;
}

void PictureStage::clear() {
  for_each_list(*this, [](auto& list) { list.clear(); });
  across_index_.clear();
  down_index_.clear();
  gaussians_.clear();
  max_rows_ = 1;
  max_radius_ = 0;
}

/// Adds the stages in the order of codec/turbo: resample, convert and subsample, sharpen, turn,
/// pad.
PictureSamples PictureStage::add(const Item& item, std::uint32_t image,
                                 std::span<const Samples> sources, gpu::Arena& arena,
                                 StagedBytes& bytes) {
  image_ = image;
  const plan::Plan& plan = *item.plan;
  PictureSamples now{};
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(plan.plane_count); ++i) {
    now[i] = resample(item, i, sources[i], arena);
  }
  if (plan.color_path == plan::ColorPath::kConvert) convert(item, now, arena, bytes);
  if (plan.sharpen_sigma > 0 && plan.encode.model != plan::OutputModel::kCmyk) {
    sharpen(plan, now[0], arena, bytes);
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(plan.encode.component_count); ++c) {
    if (plan.orientation != 1 || plan::is_padded(plan)) now[c] = place(plan, c, now[c], arena);
    const ComponentSize size = component_size(plan.encode, c);
    now[c].width_px = size.width_px;
    now[c].height_px = size.height_px;
  }
  return now;
}

Samples PictureStage::resample(const Item& item, std::uint32_t index, const Samples& source,
                               gpu::Arena& arena) {
  const plan::PlanePlan& plane = item.plan->planes[index];
  const RowPart part = item.parts.empty() ? RowPart{} : item.parts[index];
  ResamplePlan made;
  made.source = source;
  made.target = make_plane(
      arena, static_cast<std::uint32_t>(plane.x.out_size),
      static_cast<std::uint32_t>(part.out_count != 0 ? part.out_count : plane.y.out_size));
  made.desc.image = image_;
  made.desc.source_pitch_bytes = source.pitch_bytes;
  made.desc.source_height_px = source.height_px;
  made.desc.target_pitch_bytes = made.target.pitch_bytes;
  made.desc.width_px = made.target.width_px;
  made.desc.height_px = made.target.height_px;
  made.desc.across = across(item.plan->kernel, plane.x, arena);
  made.desc.down = down(item.plan->kernel, plane.y, part, arena);
  add_resample_tiles(made, down_[made.desc.down].desc.rows, arena);
  resamples_.add(made);
  return made.target;
}

void PictureStage::add_resample_tiles(ResamplePlan& made, const DownRows& down, gpu::Arena& arena) {
  ResampleDesc& desc = made.desc;
  const std::uint32_t owner = resamples_.size();
  desc.tile_columns = base::ceil_div(desc.width_px, static_cast<std::uint32_t>(kTileWidth));
  desc.tile_height = kTileHeight;
  std::uint32_t rows = rows_of_tiles(down, desc.tile_height);
  while (rows > kTileSourceRows && desc.tile_height > kRowGroup) {
    desc.tile_height /= 2;
    rows = rows_of_tiles(down, desc.tile_height);
  }
  if (rows <= kTileSourceRows) {
    max_rows_ = std::max(max_rows_, rows);
    resample_tiles_.add_parts(owner,
                              desc.tile_columns * base::ceil_div(desc.height_px, desc.tile_height));
    return;
  }
  const std::uint64_t values = std::uint64_t{desc.source_height_px} * desc.width_px;
  made.rows = arena.add<float>(gpu::Part::kLate, values);
  long_across_tiles_.add_parts(
      owner, static_cast<std::uint32_t>(base::ceil_div(values, std::uint64_t{kLongThreads})));
  const std::uint32_t groups =
      base::ceil_div(desc.height_px, static_cast<std::uint32_t>(kRowGroup)) * desc.width_px;
  long_down_tiles_.add_parts(owner, base::ceil_div(groups, std::uint32_t{kLongThreads}));
}

void PictureStage::convert(const Item& item, PictureSamples& now, gpu::Arena& arena,
                           StagedBytes& bytes) {
  ConvertPlan made;
  ConvertDesc& desc = made.desc;
  desc = describe_conversion(*item.file, *item.plan);
  desc.image = image_;
  if (item.plan->convert_icc) {
    const color::PixelTable* table = item.converter->table();
    desc.how.table_kind = table->kind;
    made.table = bytes.add_once(arena, table->bytes);
    if (table->kind == color::TableKind::kShaper) {
      made.samples = bytes.add_once(arena, color::srgb_samples());
    }
  }
  made.in = now;
  for (std::uint32_t c = 0; c < desc.out_count; ++c) {
    made.out[c] = c == 0 ? make_plane(arena, now[0].width_px, now[0].height_px)
                         : make_plane(arena, desc.cell_columns, desc.cell_rows);
  }
  now = made.out;
  desc.tile_columns =
      add_squares(convert_tiles_, converts_.size(), desc.cell_columns, desc.cell_rows);
  converts_.add(made);
}

void PictureStage::sharpen(const plan::Plan& plan, Samples& luma, gpu::Arena& arena,
                           StagedBytes& bytes) {
  std::vector<float>& weights = gaussians_[plan.sharpen_sigma];
  if (weights.empty()) {
    for (const double weight : transform::gaussian_weights(plan.sharpen_sigma)) {
      weights.push_back(static_cast<float>(weight));
    }
  }
  SharpenPlan made;
  made.desc.image = image_;
  made.source = luma;
  made.target = make_plane(arena, luma.width_px, luma.height_px);
  made.desc.radius = static_cast<std::uint32_t>(transform::gaussian_radius(plan.sharpen_sigma));
  made.weights = bytes.add_array_once<float>(arena, weights);
  made.desc.tile_columns =
      add_squares(sharpen_tiles_, sharpens_.size(), luma.width_px, luma.height_px);
  max_radius_ = std::max(max_radius_, made.desc.radius);
  sharpens_.add(made);
  luma = made.target;
}

Samples PictureStage::place(const plan::Plan& plan, std::size_t component, const Samples& source,
                            gpu::Arena& arena) {
  const std::int32_t step_x = component == 0 ? 1 : plan.encode.h[0] / plan.encode.h[component];
  const std::int32_t step_y = component == 0 ? 1 : plan.encode.v[0] / plan.encode.v[component];
  const ComponentSize size = component_size(plan.encode, component);
  PlacePlan made;
  PlaceDesc& desc = made.desc;
  desc.image = image_;
  made.source = source;
  made.target = make_plane(arena, size.width_px, size.height_px);
  desc.orientation = static_cast<std::uint32_t>(plan.orientation);
  const bool swapped = transform::swaps_axes(plan.orientation);
  desc.width_px = swapped ? source.height_px : source.width_px;
  desc.height_px = swapped ? source.width_px : source.height_px;
  if (plan::is_padded(plan)) {
    desc.left = static_cast<std::uint32_t>(plan.placement.x / step_x);
    desc.top = static_cast<std::uint32_t>(plan.placement.y / step_y);
  }
  desc.fill = plan::background_samples(plan)[component];
  desc.tile_columns = add_squares(place_tiles_, places_.size(), size.width_px, size.height_px);
  places_.add(made);
  return made.target;
}

std::uint32_t PictureStage::across(Kernel kernel, const plan::AxisMap& axis, gpu::Arena& arena) {
  const std::uint32_t index = across_index_.find_or_add(kernel, axis, {}, across_.size());
  if (index != across_.size()) return index;
  const auto outputs = static_cast<std::uint32_t>(axis.out_size);
  AcrossPlan made;
  made.desc.taps = axis_taps(kernel, axis);
  made.desc.run = across_words(made.desc.taps);
  made.first = add_late<std::uint32_t>(arena, outputs);
  made.weights = add_late<uint2>(arena, std::uint64_t{outputs} * made.desc.run);
  across_.add(made);
  across_weight_tiles_.add_parts(index, base::ceil_div(outputs, std::uint32_t{kWeightThreads}));
  return index;
}

std::uint32_t PictureStage::down(Kernel kernel, const plan::AxisMap& axis, const RowPart& part,
                                 gpu::Arena& arena) {
  const std::uint32_t index = down_index_.find_or_add(kernel, axis, part, down_.size());
  if (index != down_.size()) return index;
  DownPlan made;
  DownRows& rows = made.desc.rows;
  rows = make_down_rows(kernel, axis, part);
  made.first = add_late<std::uint32_t>(arena, rows.groups());
  made.weights = add_late<float4>(arena, std::uint64_t{rows.groups()} * rows.span);
  down_.add(made);
  down_weight_tiles_.add_parts(
      index, base::ceil_div(rows.groups() * kRowGroup, std::uint32_t{kWeightThreads}));
  return index;
}

std::uint64_t PictureStage::list_bytes() const {
  std::uint64_t bytes = 0;
  for_each_list(*this, [&](const auto& list) { bytes += list.bytes(); });
  return bytes;
}

void PictureStage::lay_out(gpu::Arena& arena) {
  for_each_list(*this, [&](auto& list) { list.lay_out(arena); });
}

void PictureStage::write(const gpu::Memory& host, const gpu::Memory& device) const {
  for_each_list(*this, [&](const auto& list) { list.write(host, device); });
}

void PictureStage::enqueue(const StageRun& run) const {
  const gpu::Memory& memory = run.memory;
  const cudaStream_t stream = run.stream.get();
  const PictureView view{across_.at(memory),
                         down_.at(memory),
                         resamples_.at(memory),
                         converts_.at(memory),
                         sharpens_.at(memory),
                         places_.at(memory),
                         run.status};
  launch_filter_weights(view, across_weight_tiles_.at(memory), across_weight_tiles_.size(),
                        down_weight_tiles_.at(memory), down_weight_tiles_.size(), stream);
  run.timeline.end(Stage::kFilterWeights, run.stream);
  launch_resample(view, resample_tiles_.at(memory), resample_tiles_.size(), max_rows_, stream);
  launch_resample_long(view, long_across_tiles_.at(memory), long_across_tiles_.size(),
                       long_down_tiles_.at(memory), long_down_tiles_.size(), stream);
  run.timeline.end(Stage::kResample, run.stream);
  if (converts_.empty() && sharpens_.empty() && places_.empty()) return;
  launch_convert(view, convert_tiles_.at(memory), convert_tiles_.size(), stream);
  launch_sharpen(view, sharpen_tiles_.at(memory), sharpen_tiles_.size(), max_radius_, stream);
  launch_place(view, place_tiles_.at(memory), place_tiles_.size(), stream);
  run.timeline.end(Stage::kPostProcess, run.stream);
}

ComponentSize component_size(const plan::EncodePlan& encode, std::size_t component) {
  const auto width = static_cast<std::uint32_t>(encode.width_px);
  const auto height = static_cast<std::uint32_t>(encode.height_px);
  if (encode.component_count == 1) return {width, height};
  const std::uint32_t h_max = *std::max_element(encode.h.begin(), encode.h.end());
  const std::uint32_t v_max = *std::max_element(encode.v.begin(), encode.v.end());
  return {base::ceil_div(width * encode.h[component], h_max),
          base::ceil_div(height * encode.v[component], v_max)};
}

}  // namespace framewire::codec::cuda
