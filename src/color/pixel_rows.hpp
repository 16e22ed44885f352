// Rows between planar YCbCr and interleaved RGB, vectorised; the instruction set is chosen at run
// time.
//
// Source: JFIF 1.02, page 3 (transform/color.hpp has the same equations for one pixel).
#pragma once

#include <cstdint>

namespace framewire::color {

/// @param rgb  host, [count][3] uint8
/// @accuracy rounded to nearest from single precision: within 1 of transform::ycbcr_to_rgb in
///           double
void ycbcr_to_rgb_row(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                      std::uint8_t* rgb, std::int32_t count);

/// @param rgb  host, [count][3] uint8
/// @accuracy as above, against transform::rgb_to_ycbcr
void rgb_to_ycbcr_row(const std::uint8_t* rgb, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr,
                      std::int32_t count);

}  // namespace framewire::color
