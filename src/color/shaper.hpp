// Profiles of curves and a matrix, or of one curve for gray, to sRGB without LittleCMS: what it
// makes of them, in microseconds instead of milliseconds.
//
// Source: LittleCMS 2.14, cmsopt.c (OptimizeMatrixShaper and MatShaperEval16): curves to light in
// 1.14 fixed point, a matrix in the same, sRGB's inverse curve as a table of 16,385 samples.
#pragma once

#include <color/pixel_table.hpp>
#include <cstdint>
#include <optional>
#include <span>

namespace framewire::color {

/// What is told of a profile by its curves and matrix alone.
struct SimpleProfile {
  bool is_srgb = false;  ///< as ProfileUse::kIsSrgb
  PixelTable table;      ///< kShaper or kCurve
};

/// Reads a profile that consists of curves and a matrix.
/// @param reduced  what reduce_profile() leaves of a profile
/// @return nothing for what is left to LittleCMS: headers that it may refuse, lookup tables, a
/// connection space other than XYZ,
///         curves whose black is not 0 (black point compensation has work then) or that leave ±2,
///         and matrices that could overflow
/// @accuracy RGB equal to LittleCMS' 8-bit transform, but within 1 for sRGB's own primaries, which
///           it treats apart; gray equal to its unoptimised transform, save ties. Held by
///           tests/unit/color/shaper_test.cpp
/// @cost some µs: 256 values of each curve that differs from the one before it
[[nodiscard]] std::optional<SimpleProfile> read_simple_profile(
    std::span<const std::uint8_t> reduced);

/// Light in 1.14 fixed point to sRGB samples: [kSrgbSamples] uint8, for look_up(). The same address
/// always. Made at the first call, in a millisecond; empty where memory ran out then.
[[nodiscard]] std::span<const std::uint8_t> srgb_samples();

/// @param table  a kShaper's bytes
/// @param rgb    host, [count][3] uint8, as is `out`; may be the same
void shape_row(const ShaperTable& table, const std::uint8_t* rgb, std::uint8_t* out,
               std::int32_t count);

}  // namespace framewire::color
