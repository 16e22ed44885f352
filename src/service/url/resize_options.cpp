#include <fmt/format.h>
#include <algorithm>
#include <base/options_values.hpp>
#include <cmath>
#include <service/url/resize_options.hpp>
#include <service/url/values.hpp>
#include <utility>

namespace framewire::service::url {
namespace {

using options::kMaxAskedSide;
using options::kMaxFactor;
using options::kMinFactor;
constexpr double kMaxSharpen = 10;  // of the option `sharpen`, and of libvips' filter

Parsed<void> unsupported(std::string_view option, std::string_view why) {
  return refuse(RequestErrorKind::kUnsupported, option, std::string(why));
}

Parsed<void> beyond(std::string_view option, double found, double low, double high) {
  return unsupported(option, fmt::format("found {}; accepted: {} to {}", found, low, high));
}

// What changes pixels in ways that the library does not know.
Parsed<void> check_effects(const ImageOptions& from) {
  constexpr std::string_view kNotHere = "this service does not do it";
  if (from.format.value_or(Format::kJpeg) != Format::kJpeg) {
    return unsupported("format",
                       fmt::format("this service writes jpeg alone, not {}", word(*from.format)));
  }
  if (from.trim.threshold) return unsupported("trim", kNotHere);
  if (from.blur.value_or(0) > 0) return unsupported("blur", kNotHere);
  if (from.pixelate.value_or(0) > 1) return unsupported("pixelate", kNotHere);
  if (from.watermark.opacity.value_or(0) > 0) return unsupported("watermark", kNotHere);
  return {};
}

ResizeMode mode_of(ResizingType type) {
  switch (type) {
    case ResizingType::kFit:
      return ResizeMode::kFit;
    case ResizingType::kFill:
      return ResizeMode::kFill;
    case ResizingType::kFillDown:
      return ResizeMode::kFillDown;
    case ResizingType::kForce:
      return ResizeMode::kForce;
    case ResizingType::kAuto:
      return ResizeMode::kAuto;
  }
  return ResizeMode::kFit;
}

Parsed<void> set_size(const ImageOptions& from, ResizeOptions& to) {
  const std::pair<const char*, std::int32_t> sides[] = {
      {"width", to.width_px = from.width.value_or(0)},
      {"height", to.height_px = from.height.value_or(0)},
      {"min-width", to.min_width_px = from.min_width.value_or(0)},
      {"min-height", to.min_height_px = from.min_height.value_or(0)}};
  for (const auto& [name, side] : sides) {
    if (side > kMaxAskedSide) return beyond(name, side, 0, kMaxAskedSide);
  }
  const std::pair<const char*, double> factors[] = {
      {"zoom", to.zoom_x = from.zoom_width.value_or(1)},
      {"zoom", to.zoom_y = from.zoom_height.value_or(1)},
      {"dpr", to.dpr = from.dpr.value_or(1)}};
  for (const auto& [name, factor] : factors) {
    if (factor < kMinFactor || factor > kMaxFactor) {
      return beyond(name, factor, kMinFactor, kMaxFactor);
    }
  }
  to.resize = mode_of(from.resizing_type.value_or(ResizingType::kFit));
  to.enlarge = from.enlarge.value_or(false);
  // No picture has a side beyond kMaxAskedSide, so a bound there is none.
  const std::int32_t most = from.max_result_dimension.value_or(0);
  to.max_result_side_px = most > 0 && most <= kMaxAskedSide ? most : 0;
  return {};
}

Gravity::Anchor anchor_of(GravityType type) {
  using Anchor = Gravity::Anchor;
  switch (type) {
    case GravityType::kNo:
      return Anchor::kNo;
    case GravityType::kSo:
      return Anchor::kSo;
    case GravityType::kEa:
      return Anchor::kEa;
    case GravityType::kWe:
      return Anchor::kWe;
    case GravityType::kNoEa:
      return Anchor::kNoEa;
    case GravityType::kNoWe:
      return Anchor::kNoWe;
    case GravityType::kSoEa:
      return Anchor::kSoEa;
    case GravityType::kSoWe:
      return Anchor::kSoWe;
    case GravityType::kFp:
      return Anchor::kFocus;
    case GravityType::kCe:
    case GravityType::kSm:  // refused before
    case GravityType::kRe:
      break;
  }
  return Anchor::kCe;
}

Parsed<Gravity> to_gravity(std::string_view option, const GravityOptions& from) {
  if (from.type == GravityType::kSm) {
    return refuse(RequestErrorKind::kUnsupported, option,
                  "this service does not look for what is in a picture (sm)");
  }
  Gravity to;
  to.anchor = anchor_of(from.type.value_or(GravityType::kCe));
  const double x = from.x_offset.value_or(0);
  const double y = from.y_offset.value_or(0);
  if (to.anchor == Gravity::Anchor::kFocus) {
    to.focus_x = x;
    to.focus_y = y;
    return to;
  }
  if (std::abs(x) > kMaxAskedSide || std::abs(y) > kMaxAskedSide) {
    const double found = std::abs(x) > kMaxAskedSide ? x : y;
    return tl::unexpected<RequestError>(
        beyond(option, found, -kMaxAskedSide, kMaxAskedSide).error());
  }
  to.offset_x = x;
  to.offset_y = y;
  return to;
}

Parsed<void> set_crop(const ImageOptions& from, ResizeOptions& to) {
  // Any crop is held to the source, which no number above kMaxAskedSide would show.
  const auto side = [](const std::optional<double>& asked) {
    const double value = std::min<double>(asked.value_or(0), kMaxAskedSide);
    return value >= 1 ? std::floor(value) : value;
  };
  to.crop_width = side(from.crop.width);
  to.crop_height = side(from.crop.height);
  to.crop_gravity.reset();
  const bool crops = to.crop_width > 0 || to.crop_height > 0;
  const bool own = has_crop_gravity(from);
  // imgproxy reads one focus point twice, in the whole picture and in what the crop left; without a
  // gravity of the crop's own the library would find the same place in both.
  const ResizingType type = from.resizing_type.value_or(ResizingType::kFit);
  const bool cuts = type != ResizingType::kFit && type != ResizingType::kForce;
  const bool twice = !own && cuts && from.gravity.type == GravityType::kFp;
  if (!crops || (!own && !twice)) return {};
  const auto gravity = to_gravity("crop", own ? from.crop.gravity : from.gravity);
  if (!gravity) return tl::unexpected<RequestError>(gravity.error());
  to.crop_gravity = *gravity;
  return {};
}

Parsed<void> set_place(const ImageOptions& from, ResizeOptions& to) {
  const auto gravity = to_gravity("gravity", from.gravity);
  if (!gravity) return tl::unexpected<RequestError>(gravity.error());
  to.gravity = *gravity;
  const auto extend = [](std::string_view name, const ExtendOptions& asked,
                         std::optional<Gravity>& out) -> Parsed<void> {
    out.reset();
    if (!asked.enabled.value_or(false)) return {};
    const auto place = to_gravity(name, asked.gravity);
    if (!place) return tl::unexpected<RequestError>(place.error());
    out = *place;
    return {};
  };
  if (auto set = extend("extend", from.extend, to.extend); !set) return set;
  return extend("extend_aspect_ratio", from.extend_aspect_ratio, to.extend_aspect_ratio);
}

Parsed<void> set_border(const ImageOptions& from, ResizeOptions& to) {
  const PaddingOptions& pad = from.padding;
  to.padding = {.top_px = pad.top.value_or(0),
                .right_px = pad.right.value_or(0),
                .bottom_px = pad.bottom.value_or(0),
                .left_px = pad.left.value_or(0)};
  for (const std::int32_t side :
       {to.padding.top_px, to.padding.right_px, to.padding.bottom_px, to.padding.left_px}) {
    if (side > kMaxAskedSide) return beyond("padding", side, 0, kMaxAskedSide);
  }
  // A background alone is for transparent pictures, which JPEGs are not; the library would pad.
  if (!adds_background(from)) {
    to.has_background = false;
  } else if (from.background) {
    to.has_background = true;
    to.background = *from.background;
  }
  return {};
}

void set_turn(const ImageOptions& from, ResizeOptions& to) {
  to.auto_orient = from.auto_rotate.value_or(to.auto_orient);
  to.rotate = static_cast<Rotation>(from.rotate.value_or(0) % 360 / 90);
  const bool across = from.flip.horizontal.value_or(false);
  const bool down = from.flip.vertical.value_or(false);
  to.flip = across ? (down ? Flip::kBoth : Flip::kHorizontal)
            : down ? Flip::kVertical
                   : Flip::kNone;
}

void set_encoding(const ImageOptions& from, ResizeOptions& to) {
  to.sharpen_sigma = std::min(kMaxSharpen, from.sharpen.value_or(to.sharpen_sigma));
  if (const int quality = jpeg_quality(from); quality > 0) to.quality = quality;
  if (from.max_bytes) to.max_bytes = static_cast<std::uint64_t>(*from.max_bytes);
  const bool strip = from.strip_metadata.value_or(to.metadata != Metadata::kKeep);
  const bool copyright = from.keep_copyright.value_or(to.metadata != Metadata::kStrip);
  to.metadata = !strip ? Metadata::kKeep : copyright ? Metadata::kCopyright : Metadata::kStrip;
  if (from.strip_color_profile) {
    to.color = *from.strip_color_profile ? ColorMode::kSrgb : ColorMode::kKeep;
  }
}

void set_limits(const ImageOptions& from, Limits& to) {
  constexpr double kMegapixel = 1e6;
  constexpr double kMaxPixels = 1e18;
  if (const double most = from.max_src_resolution.value_or(0) * kMegapixel; most > 0) {
    to.max_input_pixels = static_cast<std::uint64_t>(std::clamp(most, 1.0, kMaxPixels));
  }
  if (const std::int64_t most = from.max_src_file_size.value_or(0); most > 0) {
    to.max_input_bytes = static_cast<std::uint64_t>(most);
  }
}

}  // namespace

ResizeOptions service_defaults(const Limits& limits) {
  ResizeOptions defaults;
  defaults.metadata = Metadata::kCopyright;
  defaults.limits = limits;
  return defaults;
}

Parsed<ResizeOptions> to_resize_options(const ImageOptions& said, const ResizeOptions& defaults) {
  const ImageOptions options = with_defaults(said, defaults);
  ResizeOptions to = defaults;
  constexpr Parsed<void> (*kParts[])(const ImageOptions&, ResizeOptions&) = {set_size, set_crop,
                                                                             set_place, set_border};
  if (auto checked = check_effects(options); !checked) {
    return tl::unexpected<RequestError>(checked.error());
  }
  for (const auto set_part : kParts) {
    if (auto set = set_part(options, to); !set) return tl::unexpected<RequestError>(set.error());
  }
  set_turn(options, to);
  set_encoding(options, to);
  set_limits(options, to.limits);
  return to;
}

bool skips_processing(const ImageOptions& options) noexcept {
  return std::find(options.skip_processing.begin(), options.skip_processing.end(), Format::kJpeg) !=
         options.skip_processing.end();
}

ResizeOptions as_the_original_is(const ResizeOptions& options) {
  ResizeOptions whole;
  whole.max_result_side_px = options.max_result_side_px;
  whole.kernel = options.kernel;
  whole.quality = options.quality;
  whole.sampling = options.sampling;
  whole.progressive = options.progressive;
  whole.optimize_huffman = options.optimize_huffman;
  whole.restart_interval_mcus = options.restart_interval_mcus;
  whole.max_bytes = options.max_bytes;
  whole.always_encode = options.always_encode;
  whole.metadata = options.metadata;
  whole.color = options.color;
  whole.gain_map = options.gain_map;
  whole.codec = options.codec;
  whole.strict = options.strict;
  whole.limits = options.limits;
  return whole;
}

bool has_crop_gravity(const ImageOptions& options) noexcept {
  const GravityOptions& own = options.crop.gravity;
  const GravityOptions& all = options.gravity;
  return own.type && (*own.type != all.type.value_or(GravityType::kCe) ||
                      own.x_offset.value_or(0) != all.x_offset.value_or(0) ||
                      own.y_offset.value_or(0) != all.y_offset.value_or(0));
}

bool has_padding(const PaddingOptions& padding) noexcept {
  return padding.top.value_or(0) > 0 || padding.right.value_or(0) > 0 ||
         padding.bottom.value_or(0) > 0 || padding.left.value_or(0) > 0;
}

bool adds_background(const ImageOptions& options) noexcept {
  return options.extend.enabled.value_or(false) ||
         options.extend_aspect_ratio.enabled.value_or(false) || has_padding(options.padding);
}

int jpeg_quality(const ImageOptions& options) noexcept {
  if (const int quality = options.quality.value_or(0); quality > 0) return quality;
  return options.format_quality[static_cast<std::size_t>(Format::kJpeg)].value_or(0);
}

}  // namespace framewire::service::url
