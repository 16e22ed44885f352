#include <ipc/options_text.hpp>
#include <optional>
#include <tuple>

namespace framewire::ipc {
namespace {

// Every field is bound by name: with one more in the struct these do not compile.
auto fields(const Gravity& gravity) {
  const auto& [anchor, focus_x, focus_y, offset_x, offset_y] = gravity;
  return std::tie(anchor, focus_x, focus_y, offset_x, offset_y);
}

auto fields(const Limits& limits) {
  const auto& [input_bytes, input_pixels, scans, scan_pixels, side, output_pixels, deadline] =
      limits;
  return std::tie(input_bytes, input_pixels, scans, scan_pixels, side, output_pixels, deadline);
}

/// All but those of gravity.
auto fields(const ResizeOptions& options) {
  const auto& [width, height, resize, enlarge, min_width, min_height, max_side, crop_width,
               crop_height, crop_gravity, gravity, zoom_x, zoom_y, dpr, rotate, flip, extend,
               extend_ratio, padding, has_background, background, kernel, sharpen, quality,
               sampling, progressive, optimize, restart, max_bytes, always_encode, metadata,
               auto_orient, color, gain_map, codec, strict, limits] = options;
  return std::tuple_cat(
      std::tie(width, height, resize, enlarge, min_width, min_height, max_side, crop_width,
               crop_height, zoom_x, zoom_y, dpr, rotate, flip, padding, has_background, background,
               kernel, sharpen, quality, sampling, progressive, optimize, restart, max_bytes,
               always_encode, metadata, auto_orient, color, gain_map, codec, strict),
      fields(limits));
}

bool same(const Gravity& one, const Gravity& other) { return fields(one) == fields(other); }

bool same(const std::optional<Gravity>& one, const std::optional<Gravity>& other) {
  return one.has_value() == other.has_value() && (!one || same(*one, *other));
}

}  // namespace

Result<ResizeOptions> parse_options(std::string_view text) {
  ResizeOptions options;
  while (!text.empty()) {
    const auto end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto equals = word.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (auto set = set_option(options, word.substr(0, equals), value); !set) {
      return fail(set.error());
    }
  }
  return options;
}

bool same_options(const ResizeOptions& one, const ResizeOptions& other) noexcept {
  return fields(one) == fields(other) && same(one.gravity, other.gravity) &&
         same(one.crop_gravity, other.crop_gravity) && same(one.extend, other.extend) &&
         same(one.extend_aspect_ratio, other.extend_aspect_ratio);
}

}  // namespace framewire::ipc
