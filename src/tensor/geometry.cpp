#include <fmt/format.h>
#include <algorithm>
#include <base/checked.hpp>
#include <cmath>
#include <tensor/geometry.hpp>
#include <transform/orient.hpp>

namespace framewire::tensor {
namespace {

/// The same box in the picture as stored. @param stored  its size
CropBox to_stored(const CropBox& crop, int orientation, const PictureSize& stored) {
  const auto at = [&](std::int32_t x, std::int32_t y) {
    return transform::stored_position(orientation, {x, y}, stored.width_px, stored.height_px);
  };
  const transform::PixelPosition a = at(crop.left_px, crop.top_px);
  const transform::PixelPosition b =
      at(crop.left_px + crop.width_px - 1, crop.top_px + crop.height_px - 1);
  return {std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x) + 1, std::abs(a.y - b.y) + 1};
}

Result<CropBox> check_crop(const std::optional<CropBox>& crop, const PictureSize& shown) {
  if (!crop) return CropBox{0, 0, shown.width_px, shown.height_px};
  const auto lies_in = [](std::int32_t first, std::int32_t count, std::int32_t side) {
    return first >= 0 && count >= 1 && count <= side && first <= side - count;
  };
  if (lies_in(crop->left_px, crop->width_px, shown.width_px) &&
      lies_in(crop->top_px, crop->height_px, shown.height_px)) {
    return *crop;
  }
  return fail(
      StatusCode::kInvalidInput,
      fmt::format("a crop of {}×{} pixels at ({}, {}); accepted: 1×1 or more, inside of the "
                  "picture's {}×{}",
                  crop->width_px, crop->height_px, crop->left_px, crop->top_px, shown.width_px,
                  shown.height_px));
}

void choose_conversion(jpeg::ColorModel model, TensorColor color, ImageGeometry& out) {
  using jpeg::ColorModel;
  const bool gray = color == TensorColor::kGray;
  const bool ycbcr = color == TensorColor::kYcbcr;
  out.channels = gray || model == ColorModel::kGray ? 1 : 3;
  out.conversion = Conversion::kNone;
  if (model == ColorModel::kYcbcr && !gray && !ycbcr) out.conversion = Conversion::kYcbcrToRgb;
  if (model == ColorModel::kRgb && gray) out.conversion = Conversion::kRgbToGray;
  if (model == ColorModel::kRgb && ycbcr) out.conversion = Conversion::kRgbToYcbcr;
  // Four components become RGB first, and gray or YCbCr from there.
  if (model == ColorModel::kCmyk) out.conversion = Conversion::kCmykToRgb;
  if (model == ColorModel::kYcck) out.conversion = Conversion::kYcckToRgb;
}

/// Samples of a component that are upsampled to the crop: one more at each side, which the triangle
/// reaches. Factors that do not divide one another take less.
codec::SampleRegion exact_region(const jpeg::FrameHeader& frame, const jpeg::Component& component,
                                 const CropBox& crop) {
  const auto low = [](std::int32_t first, int factor, int max, int margin) {
    return std::max(0, first * factor / max - margin);
  };
  const auto high = [](std::int32_t end, int factor, int max, int margin, std::int32_t size) {
    return std::min(size, base::ceil_div(end * factor, max) + margin);
  };
  const int x = component.h == frame.h_max ? 0 : 1;
  const int y = component.v == frame.v_max ? 0 : 1;
  return {low(crop.left_px, component.h, frame.h_max, x),
          low(crop.top_px, component.v, frame.v_max, y),
          high(crop.left_px + crop.width_px, component.h, frame.h_max, x, component.width_px),
          high(crop.top_px + crop.height_px, component.v, frame.v_max, y, component.height_px)};
}

/// The smallest decode that leaves as many samples as the output has.
int choose_scale(double step_x, double step_y) {
  for (const int scale : {1, 2, 4}) {
    if (std::min(step_x, step_y) * scale / 8.0 >= 1.0) return scale;
  }
  return 8;
}

struct AxisPart {
  std::int32_t first;
  std::int32_t end;
  transform::AxisGeometry geometry;
};

/// @param samples  of the plane along this axis @param density  samples for one pixel
AxisPart part_of_axis(std::int32_t first_px, std::int32_t count_px, double density,
                      std::int32_t samples, std::int32_t out) {
  const double begin = first_px * density;
  const double end = (first_px + count_px) * density;
  AxisPart part{};
  part.first = std::min(static_cast<std::int32_t>(begin), samples - 1);
  part.end = std::clamp(static_cast<std::int32_t>(std::ceil(end)), part.first + 1, samples);
  part.geometry = {part.end - part.first, out, begin - part.first, (end - begin) / out};
  return part;
}

void plan_fast(const jpeg::FrameHeader& frame, const TensorOptions& options, ImageGeometry& image,
               std::size_t i) {
  const jpeg::Component& component = frame.components[i];
  ComponentGeometry& c = image.components[i];
  const double x = static_cast<double>(component.h) / frame.h_max;
  const double y = static_cast<double>(component.v) / frame.v_max;
  // Without antialiasing few samples count, and a scaled decode would average them.
  c.scale = options.antialias ? choose_scale(image.stored.width_px * x / image.width_px,
                                             image.stored.height_px * y / image.height_px)
                              : 8;
  const AxisPart across =
      part_of_axis(image.stored.left_px, image.stored.width_px, x * c.scale / 8.0,
                   base::ceil_div(component.width_px * c.scale, 8), image.width_px);
  const AxisPart down =
      part_of_axis(image.stored.top_px, image.stored.height_px, y * c.scale / 8.0,
                   base::ceil_div(component.height_px * c.scale, 8), image.height_px);
  c.region = {across.first, down.first, across.end, down.end};
  c.x = across.geometry;
  c.y = down.geometry;
}

}  // namespace

PictureSize shown_size(const jpeg::JpegFile& file, bool exif) {
  const bool swap = exif && transform::swaps_axes(file.orientation);
  return swap ? PictureSize{file.frame.height_px, file.frame.width_px}
              : PictureSize{file.frame.width_px, file.frame.height_px};
}

Result<ImageGeometry> plan_image(const jpeg::JpegFile& file, const std::optional<CropBox>& crop,
                                 const TensorOptions& options) {
  ImageGeometry image;
  image.shown = shown_size(file, options.exif);
  const auto checked = check_crop(crop, image.shown);
  if (!checked) return fail(checked.error());
  image.crop = *checked;
  image.orientation = options.exif ? file.orientation : 1;
  const jpeg::FrameHeader& frame = file.frame;
  image.stored = to_stored(image.crop, image.orientation, {frame.width_px, frame.height_px});
  const bool swap = transform::swaps_axes(image.orientation);
  image.width_px = swap ? options.height_px : options.width_px;
  image.height_px = swap ? options.width_px : options.height_px;
  choose_conversion(file.color_model, options.color, image);
  image.component_count = frame.component_count;
  // What is not linear, or wanted in another model, is converted where the file has its samples.
  image.exact =
      options.fidelity == TensorFidelity::kExact ||
      (image.conversion != Conversion::kNone && image.conversion != Conversion::kYcbcrToRgb);
  const bool luma_only = image.channels == 1 && image.conversion == Conversion::kNone;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    if (luma_only && i > 0) break;
    if (image.exact) {
      image.components[i].region = exact_region(frame, frame.components[i], image.stored);
    } else {
      plan_fast(frame, options, image, i);
    }
  }
  return image;
}

}  // namespace framewire::tensor
