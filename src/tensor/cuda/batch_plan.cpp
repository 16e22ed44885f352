#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <cstring>
#include <tensor/cuda/batch_plan.hpp>
#include <tensor/cuda/tuning.hpp>
#include <tensor/tensor_writer.hpp>
#include <transform/orient.hpp>

namespace framewire::tensor::cuda {
namespace {

transform::CropTaps taps_of(const transform::AxisGeometry& geometry, const TensorOptions& options) {
  return transform::make_crop_taps(options.kernel, geometry, options.antialias);
}

/// Bound on the samples of one run.
std::int32_t max_taps(const transform::CropTaps& taps) {
  const double reach = std::floor(2 * taps.taps.radius) + 2;
  return static_cast<std::int32_t>(
      std::min(reach, static_cast<double>(taps.taps.geometry.in_size)));
}

/// Output columns whose source pixels fit into a block's memory; 0: not even one's.
std::int32_t columns_of(const transform::CropTaps& taps) {
  const double spare = kAcrossSpan - (2 * taps.taps.radius + 3 + 2 * (kAcrossAlignment - 1));
  if (spare < 0) return 0;
  const double fit = 1 + std::floor(spare / taps.taps.geometry.step);
  return static_cast<std::int32_t>(std::min<double>(fit, kAcrossThreads));
}

/// Whether weights of an axis are precise enough.
bool has_few_taps(const transform::CropTaps& taps) { return max_taps(taps) <= kMaxTaps; }

/// The whole crop, of pixels.
transform::AxisGeometry axis_of(std::int32_t in, std::int32_t out) {
  return {in, out, 0, static_cast<double>(in) / out};
}

/// As FullRows::begin() chooses it.
Upsampling upsampling_of(const jpeg::FrameHeader& frame, const jpeg::Component& component) {
  const bool full_x = component.h == frame.h_max;
  const bool full_y = component.v == frame.v_max;
  const bool half_x = component.h * 2 == frame.h_max;
  const bool half_y = component.v * 2 == frame.v_max;
  const bool wide = component.width_px > 2;  // libjpeg repeats what is narrower
  if (full_x && full_y) return Upsampling::kFull;
  if (half_x && full_y && wide) return Upsampling::k2x1;
  if (full_x && half_y) return Upsampling::k1x2;
  if (half_x && half_y && wide) return Upsampling::k2x2;
  return Upsampling::kNearest;
}

}  // namespace

void TensorBatchPlan::clear() {
  arena_.clear();
  axes_.clear();
  images_.clear();
  first_tile_.assign(1, 0);
  max_axis_ = 0;
}

bool TensorBatchPlan::takes(const ImageGeometry& geometry, const TensorOptions& options) {
  const auto takes_axes = [&options](const transform::AxisGeometry& x,
                                     const transform::AxisGeometry& y) {
    const transform::CropTaps across = taps_of(x, options);
    return has_few_taps(across) && has_few_taps(taps_of(y, options)) && columns_of(across) > 0;
  };
  if (geometry.exact) {
    return takes_axes(axis_of(geometry.stored.width_px, geometry.width_px),
                      axis_of(geometry.stored.height_px, geometry.height_px));
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(geometry.channels); ++c) {
    if (!takes_axes(geometry.components[c].x, geometry.components[c].y)) return false;
  }
  return true;
}

std::uint32_t TensorBatchPlan::add_axis(const transform::AxisGeometry& geometry,
                                        std::int32_t alignment, std::int32_t lead) {
  Axis axis;
  axis.weights.taps = taps_of(geometry, options_);
  axis.weights.alignment = alignment;
  axis.weights.lead = lead;
  const auto out = static_cast<std::uint64_t>(geometry.out_size);
  const auto most =
      static_cast<std::uint64_t>(base::ceil_div(max_taps(axis.weights.taps) + alignment - 1, 4));
  axis.quads = arena_.add<uint2>(gpu::Part::kScratch, out * most, sizeof(uint2));
  axis.first = arena_.add<std::int32_t>(gpu::Part::kScratch, out);
  axis.count = arena_.add<std::int32_t>(gpu::Part::kScratch, out);
  max_axis_ = std::max(max_axis_, geometry.out_size);
  axes_.push_back(axis);
  return static_cast<std::uint32_t>(axes_.size() - 1);
}

void TensorBatchPlan::add_channel(Image& image, std::size_t channel,
                                  const transform::AxisGeometry& x, std::int32_t left,
                                  const transform::AxisGeometry& y) {
  ImageDesc& desc = image.desc;
  // Planes of both chroma components are alike, and so are their weights.
  const auto axis_for = [&](const std::uint32_t(&axes)[3], const transform::AxisGeometry& wanted,
                            std::int32_t alignment, std::int32_t lead) {
    if (channel > 0) {
      const AxisWeights& before = axes_[axes[channel - 1]].weights;
      if (before.taps.taps.geometry == wanted && before.lead == lead) return axes[channel - 1];
    }
    return add_axis(wanted, alignment, lead);
  };
  desc.across[channel] = axis_for(desc.across, x, kAcrossAlignment, left % kAcrossAlignment);
  desc.down[channel] = axis_for(desc.down, y, 1, 0);
  desc.rows[channel] = y.in_size;
  desc.columns[channel] = columns_of(axes_[desc.across[channel]].weights.taps);
  desc.column_tiles[channel] =
      static_cast<std::uint32_t>(base::ceil_div(desc.width_px, desc.columns[channel]));
  const auto tiles = desc.column_tiles[channel] *
                     static_cast<std::uint32_t>(base::ceil_div(y.in_size, kAcrossRows));
  for (std::size_t after = channel + 1; after < std::size(desc.first_tile); ++after) {
    desc.first_tile[after] = desc.first_tile[channel] + tiles;
  }
}

void TensorBatchPlan::add(const jpeg::JpegFile& file, const ImageGeometry& geometry, bool flip,
                          void* out) {
  Image image;
  ImageDesc& desc = image.desc;
  const jpeg::FrameHeader& frame = file.frame;
  image.component_count = frame.component_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    const jpeg::Component& component = frame.components[i];
    const ComponentGeometry& wanted = geometry.components[i];
    ComponentSamples& samples = desc.components[i];
    const int scale = geometry.exact ? 8 : wanted.scale;
    samples.width = base::ceil_div(component.width_px * scale, 8);
    samples.height = base::ceil_div(component.height_px * scale, 8);
    samples.left = wanted.region.left;
    samples.top = wanted.region.top;
    samples.upsampling = upsampling_of(frame, component);
    samples.h = static_cast<std::uint8_t>(component.h);
    samples.v = static_cast<std::uint8_t>(component.v);
  }
  desc.width_px = geometry.width_px;
  desc.height_px = geometry.height_px;
  desc.crop_left = geometry.stored.left_px;
  desc.crop_top = geometry.stored.top_px;
  desc.channels = geometry.channels;
  desc.orientation = flip ? transform::mirrored(geometry.orientation) : geometry.orientation;
  desc.h_max = static_cast<std::uint8_t>(frame.h_max);
  desc.v_max = static_cast<std::uint8_t>(frame.v_max);
  desc.exact = geometry.exact;
  desc.conversion = geometry.conversion;
  desc.out = out;
  const auto channels = static_cast<std::size_t>(geometry.channels);
  if (geometry.exact) {
    add_channel(image, 0, axis_of(geometry.stored.width_px, geometry.width_px), desc.crop_left,
                axis_of(geometry.stored.height_px, geometry.height_px));
  } else {
    for (std::size_t c = 0; c < channels; ++c) {
      const ComponentGeometry& wanted = geometry.components[c];
      add_channel(image, c, wanted.x, wanted.region.left, wanted.y);
    }
  }
  const auto pixels_of = [&desc](std::int32_t rows) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(desc.width_px);
  };
  if (geometry.exact && channels == 3) {
    image.middle_pixels =
        arena_.add<MiddlePixel>(gpu::Part::kScratch, pixels_of(desc.rows[0]), sizeof(MiddlePixel));
  } else {
    for (std::size_t c = 0; c < channels; ++c) {
      image.middle[c] = arena_.add<std::int16_t>(gpu::Part::kScratch,
                                                 pixels_of(desc.rows[geometry.exact ? 0 : c]));
    }
  }
  first_tile_.push_back(first_tile_.back() + desc.first_tile[3]);
  images_.push_back(image);
}

void TensorBatchPlan::lay_out() {
  image_slice_ = arena_.add<ImageDesc>(gpu::Part::kUploaded, images_.size());
  axis_slice_ = arena_.add<AxisWeights>(gpu::Part::kUploaded, axes_.size());
  tile_slice_ = arena_.add<std::uint32_t>(gpu::Part::kUploaded, first_tile_.size());
}

BatchDesc TensorBatchPlan::write(std::uint8_t* staging, std::uint8_t* device,
                                 const codec::cuda::Transcoder& decoded, const void* tables) {
  const gpu::Memory host(staging, arena_);
  const gpu::Memory memory(device, arena_);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    AxisWeights& weights = axes_[i].weights;
    weights.quads = memory.at(axes_[i].quads);
    weights.first = memory.at(axes_[i].first);
    weights.count = memory.at(axes_[i].count);
    std::memcpy(host.at(axis_slice_) + i, &weights, sizeof weights);
  }
  for (std::size_t i = 0; i < images_.size(); ++i) {
    ImageDesc& desc = images_[i].desc;
    for (std::size_t c = 0; c < static_cast<std::size_t>(images_[i].component_count); ++c) {
      const DevicePlane plane = decoded.plane(i, c);
      desc.components[c].plane = {plane.samples, static_cast<std::uint32_t>(plane.width_px),
                                  static_cast<std::uint32_t>(plane.height_px),
                                  static_cast<std::uint32_t>(plane.pitch_bytes)};
    }
    desc.middle_pixels = memory.at_or_null(images_[i].middle_pixels);
    for (std::size_t c = 0; c < static_cast<std::size_t>(desc.channels); ++c) {
      desc.middle[c] = memory.at_or_null(images_[i].middle[c]);
    }
    std::memcpy(host.at(image_slice_) + i, &desc, sizeof desc);
  }
  std::memcpy(host.at(tile_slice_), first_tile_.data(), first_tile_.size() * sizeof(std::uint32_t));

  BatchDesc batch;
  batch.images = memory.at(image_slice_);
  batch.axes = memory.at(axis_slice_);
  batch.first_tile = memory.at(tile_slice_);
  batch.tables = tables;
  batch.count = static_cast<std::uint32_t>(images_.size());
  batch.axis_count = static_cast<std::uint32_t>(axes_.size());
  batch.tiles = first_tile_.back();
  batch.max_axis = max_axis_;
  batch.width_px = options_.width_px;
  batch.height_px = options_.height_px;
  batch.color = options_.color;
  batch.layout = options_.layout;
  batch.element_bytes = static_cast<int>(element_bytes(options_.type));
  batch.channels = channel_count(options_.color);
  for (int c = 0; c < batch.channels; ++c) {
    batch.sources[c] = source_channel(options_.color, c, 3);
    batch.gray_sources[c] = source_channel(options_.color, c, 1);
  }
  return batch;
}

}  // namespace framewire::tensor::cuda
