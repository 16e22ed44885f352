#include <fmt/format.h>
#include <algorithm>
#include <base/decimal.hpp>
#include <plan/plan.hpp>

namespace framewire::plan {
namespace {

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// round(a × b / c), halves up, at least 1. All arguments positive and below 2^31.
std::int64_t scale_round(std::int64_t a, std::int64_t b, std::int64_t c) {
  return std::max<std::int64_t>(1, (2 * a * b + c) / (2 * c));
}

/// Where the gravity points along each axis, in billionths: 0 at the start, 10^9 at the end.
struct Target {
  std::int64_t x = 0;
  std::int64_t y = 0;
};

Target target_of(const Gravity& g) {
  using A = Gravity::Anchor;
  constexpr std::int64_t kStart = 0;
  constexpr std::int64_t kMiddle = base::kBillion / 2;
  constexpr std::int64_t kEnd = base::kBillion;
  switch (g.anchor) {
    case A::kNo:
      return {kMiddle, kStart};
    case A::kSo:
      return {kMiddle, kEnd};
    case A::kEa:
      return {kEnd, kMiddle};
    case A::kWe:
      return {kStart, kMiddle};
    case A::kNoEa:
      return {kEnd, kStart};
    case A::kNoWe:
      return {kStart, kStart};
    case A::kSoEa:
      return {kEnd, kEnd};
    case A::kSoWe:
      return {kStart, kEnd};
    case A::kFocus:
      return {base::billionths(g.focus_x), base::billionths(g.focus_y)};
    case A::kCe:
      break;
  }
  return {kMiddle, kMiddle};
}

/// One axis of a part of the picture.
struct Extent {
  std::int64_t start = 0;
  std::int64_t size = 0;
};

/// Start of a window of `part` samples inside `from`: anchored there; or centred on the focus point
/// and moved into `from`. A focus point names a place in the whole picture, whatever was cut off
/// before.
std::int64_t window(const Extent& from, std::int64_t part, bool focus, std::int64_t target,
                    std::int64_t whole) {
  const std::int64_t room = from.size - part;
  if (!focus) return from.start + room * target / base::kBillion;
  const std::int64_t centred =
      base::round_half_up(2 * target * whole - part * base::kBillion, 2 * base::kBillion);
  return std::clamp(centred, from.start, from.start + room);
}

/// @param whole  size of the upright picture
Rect cut(const Rect& from, Size part, const Gravity& g, Size whole) {
  const bool focus = g.anchor == Gravity::Anchor::kFocus;
  const Target target = target_of(g);
  const auto x = window({from.x, from.width}, part.width, focus, target.x, whole.width);
  const auto y = window({from.y, from.height}, part.height, focus, target.y, whole.height);
  return Rect{static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
              static_cast<std::int32_t>(part.width), static_cast<std::int32_t>(part.height)};
}

/// Larger requests are all refused alike by check_output(); capping them keeps products in range.
constexpr std::int32_t kLargestSide = 1'000'000;

/// The requested size after dpr; 0 where a side was left out.
Size requested(const ResizeOptions& options) {
  const std::int64_t dpr = base::billionths(options.dpr);
  const auto side = [&](std::int32_t px) -> std::int64_t {
    if (px == 0) return 0;
    const std::int64_t scaled =
        base::round_half_up(std::min(px, kLargestSide) * dpr, base::kBillion);
    return std::clamp<std::int64_t>(scaled, 1, kLargestSide);
  };
  return {side(options.width_px), side(options.height_px)};
}

/// The largest size of the source's shape inside `want`, either side of which may be free.
Size fit(Size source, Size want, bool enlarge) {
  if (want.width == 0 && want.height == 0) return source;
  const bool width_binds = want.height == 0 || (want.width != 0 && want.width * source.height <=
                                                                       want.height * source.width);
  if (!enlarge && (width_binds ? want.width >= source.width : want.height >= source.height)) {
    return source;
  }
  if (width_binds) return {want.width, scale_round(source.height, want.width, source.width)};
  return {scale_round(source.width, want.height, source.height), want.height};
}

/// `want` shrunk, shape kept, until it fits inside `source`.
Size shrink_into(Size want, Size source) {
  if (want.width <= source.width && want.height <= source.height) return want;
  return fit(want, source, false);
}

/// The part of `source` that `out` shows when the source just covers it.
Size covered(Size source, Size out, Size want, bool enlarge) {
  const bool clamped = !enlarge && (want.width >= source.width || want.height >= source.height);
  if (clamped && (out.width != want.width || out.height != want.height)) return out;  // 1:1
  if (out.width * source.height >= out.height * source.width) {
    return {source.width,
            std::min(source.height, scale_round(out.height, source.width, out.width))};
  }
  return {std::min(source.width, scale_round(out.width, source.height, out.height)), source.height};
}

ResizeMode effective_mode(const ResizeOptions& options, Size source, Size want) {
  if (want.width == 0 || want.height == 0) {
    return options.resize == ResizeMode::kForce ? ResizeMode::kForce : ResizeMode::kFit;
  }
  if (options.resize != ResizeMode::kAuto) return options.resize;
  const auto shape = [](Size s) { return (s.width > s.height) - (s.width < s.height); };
  const bool same = shape(source) == shape(want) || shape(source) == 0 || shape(want) == 0;
  return same ? ResizeMode::kFill : ResizeMode::kFit;
}

/// Fills in picture size and the part of the crop that it shows.
void place_source(const ResizeOptions& options, Size want, Size whole, Geometry& geometry) {
  const Size source{geometry.source.width, geometry.source.height};
  const ResizeMode mode = effective_mode(options, source, want);
  Size picture;
  if (mode == ResizeMode::kForce) {
    picture = fit(source, want, options.enlarge);
    if (want.width != 0 && want.height != 0) {
      picture = want;
      if (!options.enlarge) {
        picture = {std::min(want.width, source.width), std::min(want.height, source.height)};
      }
    }
  } else if (mode == ResizeMode::kFit) {
    picture = fit(source, want, options.enlarge);
  } else {
    if (mode == ResizeMode::kFillDown && !options.enlarge) want = shrink_into(want, source);
    picture = want;
    if (!options.enlarge) {
      picture = {std::min(want.width, source.width), std::min(want.height, source.height)};
    }
    geometry.source = cut(geometry.source, covered(source, picture, want, options.enlarge),
                          options.gravity, whole);
  }
  geometry.picture_width_px =
      static_cast<std::int32_t>(std::min<std::int64_t>(picture.width, INT32_MAX));
  geometry.picture_height_px =
      static_cast<std::int32_t>(std::min<std::int64_t>(picture.height, INT32_MAX));
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
  Geometry geometry;
  const Size whole{width_px, height_px};
  geometry.source = {0, 0, width_px, height_px};
  const auto crop_side = [](std::int32_t asked, std::int32_t side) -> std::int64_t {
    return asked == 0 ? side : std::min(asked, side);
  };
  geometry.source = cut(
      geometry.source,
      {crop_side(options.crop_width_px, width_px), crop_side(options.crop_height_px, height_px)},
      options.gravity, whole);
  const Size want = requested(options);
  place_source(options, want, whole, geometry);
  geometry.canvas_width_px = geometry.picture_width_px;
  geometry.canvas_height_px = geometry.picture_height_px;
  if (options.has_background && want.width != 0 && want.height != 0) {
    const auto limit = [](std::int64_t v) {
      return static_cast<std::int32_t>(std::min<std::int64_t>(v, INT32_MAX));
    };
    geometry.canvas_width_px = std::max(geometry.picture_width_px, limit(want.width));
    geometry.canvas_height_px = std::max(geometry.picture_height_px, limit(want.height));
    const Target target = target_of(options.gravity);
    const auto offset = [](std::int32_t room, std::int64_t at) {
      return static_cast<std::int32_t>(room * at / base::kBillion);
    };
    geometry.offset_x_px = offset(geometry.canvas_width_px - geometry.picture_width_px, target.x);
    geometry.offset_y_px = offset(geometry.canvas_height_px - geometry.picture_height_px, target.y);
  }
  if (auto ok = check_output(geometry, options.limits); !ok) return fail(ok.error());
  return geometry;
}

}  // namespace framewire::plan
