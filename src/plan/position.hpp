// Where a part lies in a whole, by gravity: docs/geometry.md, "Crop and gravity".
#pragma once

#include <cstdint>
#include <framewire/options.hpp>

namespace framewire::plan {

struct Position {
  std::int64_t x = 0;
  std::int64_t y = 0;
};

/// Start of a part of `part` × `part_height` pixels in a whole, the part held inside it.
/// @param width, height            of the whole, at least 1
/// @param part_width, part_height  of the part; where larger than the whole, it starts at 0
/// @param gravity  a focus point is a fraction of the whole's sides
/// @param dpr      of offsets in pixels
[[nodiscard]] Position find_position(std::int64_t width, std::int64_t height,
                                     std::int64_t part_width, std::int64_t part_height,
                                     const Gravity& gravity, double dpr);

}  // namespace framewire::plan
