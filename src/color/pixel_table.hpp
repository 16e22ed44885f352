// A file's ICC profile as a table that converts to sRGB without LittleCMS.
#pragma once

#include <color/table_lookup.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <span>
#include <vector>

namespace framewire::color {

struct PixelTable {
  TableKind kind = TableKind::kNone;
  std::vector<std::uint8_t> bytes;  ///< as look_up() reads it; wants 16-byte alignment
};

/// Samples the transform that Converter runs: perceptual intent, black point compensation.
/// @param icc    a profile that classify_profile() finds convertible
/// @param model  of the file
/// @return invalid_input where LittleCMS makes no transform of it
/// @accuracy against Converter: gray equal, curves and matrix within 1, tables within 2 a channel;
///           tests/unit/color/pixel_table_test.cpp
/// @cost some 100 µs for curves and matrix, tens of ms for tables, which take up to 0.7 MB
[[nodiscard]] Result<PixelTable> make_pixel_table(std::span<const std::uint8_t> icc,
                                                  jpeg::ColorModel model);

}  // namespace framewire::color
