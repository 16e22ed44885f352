// A file's ICC profile as a table that converts to sRGB without LittleCMS.
#pragma once

#include <color/table_lookup.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <vector>

namespace framewire::color {

struct PixelTable {
  TableKind kind = TableKind::kNone;
  std::vector<std::uint8_t> bytes;  ///< as look_up() reads it; wants 16-byte alignment
};

/// Makes the table of a profile with LittleCMS, at perceptual intent and with black point
/// compensation; shaper.hpp does without it for simple profiles.
/// @param reduced   what reduce_profile() leaves of a profile; one that is for this many channels
/// @param channels  of the device values: 1, 3 or 4
/// @return invalid_input where LittleCMS makes no transform of it
/// @accuracy against make_transform(): gray equal, curves and matrix within 1, tables within 2 a
///           channel; tests/unit/color/pixel_table_test.cpp
/// @cost 2 ms for curves and matrix, tens of ms for tables, which take up to 0.7 MB
[[nodiscard]] Result<PixelTable> make_pixel_table(std::span<const std::uint8_t> reduced,
                                                  int channels);

}  // namespace framewire::color
