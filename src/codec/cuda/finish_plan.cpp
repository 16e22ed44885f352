#include <codec/cuda/tuning.h>
#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <codec/cuda/finish_plan.hpp>
#include <cstring>
#include <transform/color.hpp>
#include <transform/orient.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr auto kTile = static_cast<std::uint32_t>(kFinishTile);

void add_tiles(std::vector<Tile>& tiles, std::size_t count, std::uint32_t columns,
               std::uint32_t height) {
  const std::uint32_t parts = columns * base::ceil_div(height, kTile);
  for (std::uint32_t i = 0; i < parts; ++i) tiles.push_back({static_cast<std::uint32_t>(count), i});
}

template <typename T>
void copy_list(std::uint8_t* to, const std::vector<T>& list) {
  if (!list.empty()) std::memcpy(to, list.data(), list.size() * sizeof(T));
}

/// Where a grid of `step` pixels begins along an axis that is `flipped`: what is left over lies at
/// the displayed end.
std::int32_t grid_shift(bool flipped, std::int32_t size, std::int32_t step) {
  return flipped ? -((step - size % step) % step) : 0;
}

}  // namespace

void FinishPlan::clear() {
  converts.clear(), sharpens.clear(), places.clear();
  convert_tiles.clear(), sharpen_tiles.clear(), place_tiles.clear();
  most_radius = 0;
}

void FinishPlan::place(gpu::Layout& layout) {
  offsets.converts = layout.add_array<ConvertDesc>(converts.size());
  offsets.sharpens = layout.add_array<SharpenDesc>(sharpens.size());
  offsets.places = layout.add_array<PlaceDesc>(places.size());
  offsets.convert_tiles = layout.add_array<Tile>(convert_tiles.size());
  offsets.sharpen_tiles = layout.add_array<Tile>(sharpen_tiles.size());
  offsets.place_tiles = layout.add_array<Tile>(place_tiles.size());
}

void FinishPlan::relocate(std::uint64_t samples, std::uint64_t data) {
  for (ConvertDesc& desc : converts) {
    for (SampleView& plane : desc.in) plane.samples += samples;
    for (SampleView& plane : desc.out) plane.samples += samples;
    desc.how.table += data;
  }
  for (SharpenDesc& desc : sharpens) {
    desc.source.samples += samples, desc.target.samples += samples;
    desc.weights += data;
  }
  for (PlaceDesc& desc : places) desc.source.samples += samples, desc.target.samples += samples;
}

void FinishPlan::write(std::uint8_t* staging) const {
  copy_list(staging + offsets.converts, converts);
  copy_list(staging + offsets.sharpens, sharpens);
  copy_list(staging + offsets.places, places);
  copy_list(staging + offsets.convert_tiles, convert_tiles);
  copy_list(staging + offsets.sharpen_tiles, sharpen_tiles);
  copy_list(staging + offsets.place_tiles, place_tiles);
}

ConvertDesc FinishPlan::make_convert(const jpeg::JpegFile& file, const plan::Plan& plan) {
  ConvertDesc desc;
  desc.how.input = static_cast<PixelModel>(file.color_model);
  desc.how.inverted = file.adobe_transform.has_value() ? 1 : 0;
  desc.how.keep_cmyk = plan.encode.model == plan::OutputModel::kCmyk ? 1 : 0;
  desc.in_count = static_cast<std::uint32_t>(plan.plane_count);
  desc.out_count = static_cast<std::uint32_t>(plan.encode.component_count);
  std::int32_t step_x = plan.encode.h[0];
  std::int32_t step_y = plan.encode.v[0];
  if (transform::swaps_axes(plan.orientation)) std::swap(step_x, step_y);
  const transform::Position first = transform::stored_position(
      plan.orientation, {0, 0}, plan.resized_width_px, plan.resized_height_px);
  desc.step_x = static_cast<std::uint32_t>(step_x);
  desc.step_y = static_cast<std::uint32_t>(step_y);
  desc.shift_x = grid_shift(first.x != 0, plan.resized_width_px, step_x);
  desc.shift_y = grid_shift(first.y != 0, plan.resized_height_px, step_y);
  desc.cell_columns = static_cast<std::uint32_t>(base::ceil_div(plan.resized_width_px, step_x));
  desc.cell_rows = static_cast<std::uint32_t>(base::ceil_div(plan.resized_height_px, step_y));
  return desc;
}

void FinishPlan::add_convert(const ConvertDesc& desc) {
  const std::uint32_t columns = base::ceil_div(desc.cell_columns, kTile);
  add_tiles(convert_tiles, converts.size(), columns, desc.cell_rows);
  converts.push_back(desc);
  converts.back().tile_columns = columns;
}

void FinishPlan::add_sharpen(const SharpenDesc& desc) {
  const std::uint32_t columns = base::ceil_div(desc.target.width_px, kTile);
  add_tiles(sharpen_tiles, sharpens.size(), columns, desc.target.height_px);
  sharpens.push_back(desc);
  sharpens.back().tile_columns = columns;
  most_radius = std::max(most_radius, desc.radius);
}

void FinishPlan::add_place(const PlaceDesc& desc) {
  const std::uint32_t columns = base::ceil_div(desc.target.width_px, kTile);
  add_tiles(place_tiles, places.size(), columns, desc.target.height_px);
  places.push_back(desc);
  places.back().tile_columns = columns;
}

bool is_padded(const plan::Plan& plan) {
  return plan.placement.width != plan.encode.width_px ||
         plan.placement.height != plan.encode.height_px;
}

std::array<std::uint8_t, 4> background_samples(const plan::Plan& plan) {
  const auto round = [](double v) {
    return static_cast<std::uint8_t>(std::clamp(std::floor(v + 0.5), 0.0, 255.0));
  };
  const auto& b = plan.background;
  if (plan.encode.model == plan::OutputModel::kCmyk) return {b[0], b[1], b[2], 255};
  const auto ycc = transform::rgb_to_ycbcr(transform::Rgb<double>{
      static_cast<double>(b[0]), static_cast<double>(b[1]), static_cast<double>(b[2])});
  return {round(ycc.y), round(ycc.cb), round(ycc.cr), 0};
}

}  // namespace framewire::codec::cuda
