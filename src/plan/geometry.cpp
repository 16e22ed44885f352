#include <fmt/format.h>
#include <algorithm>
#include <plan/plan.hpp>
#include <plan/position.hpp>
#include <plan/scaling.hpp>

namespace framewire::plan {
namespace {

std::int32_t to_int32(std::int64_t side) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(side, 0, INT32_MAX));
}

/// @param asked  as ResizeOptions::crop_width
std::int64_t crop_side(double asked, std::int64_t side) {
  if (!(asked > 0)) return side;
  if (asked >= static_cast<double>(side)) return side;
  if (asked >= 1) return static_cast<std::int64_t>(asked);
  return std::max<std::int64_t>(1, round_side(static_cast<double>(side) * asked));
}

Rect crop(Size whole, const ResizeOptions& options) {
  const Size part{crop_side(options.crop_width, whole.width),
                  crop_side(options.crop_height, whole.height)};
  const Gravity& gravity = options.crop_gravity ? *options.crop_gravity : options.gravity;
  const Position at =
      find_position(whole.width, whole.height, part.width, part.height, gravity, 1.0);
  return {to_int32(at.x), to_int32(at.y), to_int32(part.width), to_int32(part.height)};
}

/// A fraction of a side of the whole picture as one of the side that crop left.
double fraction_in_crop(double fraction, std::int32_t whole, std::int32_t start,
                        std::int32_t size) {
  return size == whole ? fraction : (fraction * whole - start) / size;
}

/// The gravity of the cut behind scaling. A focus point that crop obeyed as well stays the place in
/// the picture that it is.
Gravity cut_gravity(const ResizeOptions& options, Size whole, const Rect& crop) {
  Gravity gravity = options.gravity;
  if (gravity.anchor != Gravity::Anchor::kFocus || options.crop_gravity) return gravity;
  gravity.focus_x = fraction_in_crop(gravity.focus_x, to_int32(whole.width), crop.x, crop.width);
  gravity.focus_y = fraction_in_crop(gravity.focus_y, to_int32(whole.height), crop.y, crop.height);
  return gravity;
}

/// One axis of a part of the source.
struct Extent {
  double start = 0;
  double size = 0;
};

/// What a window of the scaled part shows. Its size is by the true scale, not by that of the
/// rounded size, so that nothing is distorted; at an edge of the scaled part it lies at the crop's
/// edge.
Extent to_source(std::int32_t crop_start, std::int32_t crop_size, std::int64_t scaled, double scale,
                 std::int64_t start, std::int64_t size) {
  if (size >= scaled) return {static_cast<double>(crop_start), static_cast<double>(crop_size)};
  const double shown = std::min<double>(static_cast<double>(size) / scale, crop_size);
  const auto room = static_cast<double>(scaled - size);
  return {crop_start + (crop_size - shown) * static_cast<double>(start) / room, shown};
}

/// Cuts the scaled part to its target; fills in picture, window and source.
void cut(const Scaling& s, const Gravity& gravity, Geometry& geometry) {
  const auto kept = [](std::int64_t scaled, std::int64_t bound) {
    return bound == 0 ? scaled : std::min(scaled, bound);
  };
  const Size picture{kept(s.scaled.width, s.cut.width), kept(s.scaled.height, s.cut.height)};
  const Position at =
      find_position(s.scaled.width, s.scaled.height, picture.width, picture.height, gravity, s.dpr);
  geometry.picture_width_px = to_int32(picture.width);
  geometry.picture_height_px = to_int32(picture.height);
  geometry.scaled_width_px = s.scaled.width;
  geometry.scaled_height_px = s.scaled.height;
  geometry.window_x_px = at.x;
  geometry.window_y_px = at.y;
  const Rect& crop = geometry.crop;
  const Extent x = to_source(crop.x, crop.width, s.scaled.width, s.x, at.x, picture.width);
  const Extent y = to_source(crop.y, crop.height, s.scaled.height, s.y, at.y, picture.height);
  geometry.source = {x.start, y.start, x.size, y.size};
}

/// Adds background up to a size; a side of 0 stays, and so does a canvas that is as large.
void extend(Geometry& geometry, Size want, const Gravity& gravity, double dpr) {
  const Size from{geometry.canvas_width_px, geometry.canvas_height_px};
  if (want.width <= from.width && want.height <= from.height) return;
  const Size canvas{std::max(want.width, from.width), std::max(want.height, from.height)};
  const Position at =
      find_position(canvas.width, canvas.height, from.width, from.height, gravity, dpr);
  geometry.offset_x_px = to_int32(geometry.offset_x_px + at.x);
  geometry.offset_y_px = to_int32(geometry.offset_y_px + at.y);
  geometry.canvas_width_px = to_int32(canvas.width);
  geometry.canvas_height_px = to_int32(canvas.height);
}

void pad(Geometry& geometry, const Padding& padding) {
  const auto sum = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return to_int32(a + b + c);
  };
  geometry.offset_x_px = sum(geometry.offset_x_px, padding.left_px, 0);
  geometry.offset_y_px = sum(geometry.offset_y_px, padding.top_px, 0);
  geometry.canvas_width_px = sum(geometry.canvas_width_px, padding.left_px, padding.right_px);
  geometry.canvas_height_px = sum(geometry.canvas_height_px, padding.top_px, padding.bottom_px);
}

Result<void> check_output(const Geometry& g, const Limits& limits) {
  const auto pixels = static_cast<std::uint64_t>(g.canvas_width_px) *
                      static_cast<std::uint64_t>(g.canvas_height_px);
  const std::int32_t side_limit = std::min(limits.max_output_side_px, 65'500);
  if (g.canvas_width_px > side_limit || g.canvas_height_px > side_limit) {
    return fail(Status(StatusCode::kTooLarge,
                       fmt::format("output would be {}×{} px; a side may have at most {} px",
                                   g.canvas_width_px, g.canvas_height_px, side_limit))
                    .about("max-output-side"));
  }
  if (pixels > limits.max_output_pixels) {
    return fail(
        Status(StatusCode::kTooLarge,
               fmt::format("output would be {}×{} px = {} pixels; at most {} are allowed",
                           g.canvas_width_px, g.canvas_height_px, pixels, limits.max_output_pixels))
            .about("max-output-pixels"));
  }
  return {};
}

}  // namespace

Result<Geometry> make_geometry(std::int32_t width_px, std::int32_t height_px,
                               const ResizeOptions& options) {
  if (width_px < 1 || height_px < 1) {
    return fail(
        StatusCode::kInvalidInput,
        fmt::format("image is {}×{} px; both sides must be at least 1", width_px, height_px));
  }
  const Size whole{width_px, height_px};
  Geometry geometry;
  geometry.crop = crop(whole, options);
  const Scaling scaling = scale_part({geometry.crop.width, geometry.crop.height}, options);
  geometry.dpr = scaling.dpr;
  cut(scaling, cut_gravity(options, whole, geometry.crop), geometry);
  geometry.canvas_width_px = geometry.picture_width_px;
  geometry.canvas_height_px = geometry.picture_height_px;
  if (pads_to_box(options)) {
    extend(geometry, scaling.target, options.extend.value_or(options.gravity), scaling.dpr);
  }
  if (options.extend_aspect_ratio && scaling.aspect.width > 0 && scaling.aspect.height > 0) {
    extend(geometry, scaling.aspect, *options.extend_aspect_ratio, scaling.dpr);
  }
  pad(geometry, scale_padding(options.padding, scaling.dpr));
  if (auto ok = check_output(geometry, options.limits); !ok) return fail(ok.error());
  return geometry;
}

}  // namespace framewire::plan
