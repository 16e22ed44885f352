// How much a picture is scaled, and which sizes follow: steps 2 to 6 of docs/geometry.md.
#pragma once

#include <cstdint>
#include <framewire/options.hpp>

namespace framewire::plan {

/// Sides in pixels. 64 bits wide: a box times dpr can be far larger than what may be written.
struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// No size below is larger; what comes near is refused when the output's size is checked.
inline constexpr std::int64_t kMaxScaledSide = 1'000'000'000'000;

/// Rounds to the nearest whole number, halves away from zero.
/// @return between 0 and kMaxScaledSide; 0 for what is no number
[[nodiscard]] std::int64_t round_side(double value);

/// Rounds to the nearest whole number, halves to the even one.
/// @return within ±kMaxScaledSide; 0 for what is no number
[[nodiscard]] std::int64_t round_to_even(double value);

/// What the part that crop left is scaled to. A side of 0 is free.
struct Scaling {
  double x = 1;  ///< pixels of the scaled part for one of the source
  double y = 1;
  double dpr = 1;  ///< after the cap
  Size target;     ///< the box times dpr and zoom
  Size scaled;     ///< the whole part, as libvips counts the pixels that it makes
  /// The whole part, as imgproxy counts it beforehand: `cut` and `aspect` follow from it. At an
  /// exact half it can differ from `scaled` by a pixel.
  Size estimate;
  Size cut;     ///< what is kept, as far as it is smaller than `scaled`
  Size aspect;  ///< what extend_aspect_ratio grows to; 0×0: it has nothing to add
};

/// Whether background is added up to the whole box: by extend, or by background alone.
[[nodiscard]] bool pads_to_box(const ResizeOptions& options);

/// Follows the order of operations, in doubles, that docs/geometry.md states: sizes that are exact
/// halves depend on it.
/// @param part  what crop left; both sides at least 1
[[nodiscard]] Scaling scale_part(Size part, const ResizeOptions& options);

/// Each side of the padding times the dpr in use.
[[nodiscard]] Padding scale_padding(const Padding& padding, double dpr);

}  // namespace framewire::plan
