// Pictures with what photographs have and flat test cards lack: gradients, texture, grain, edges.
#pragma once

#include <cstdint>
#include <tests/tools/picture.hpp>

namespace framewire::tools {

/// Layered hills under a sky with a sun: smooth gradients over fine texture.
Picture hills(int width_px, int height_px, std::uint32_t seed);
/// Lights out of focus over a dark street: saturated chroma beside near-black.
Picture night(int width_px, int height_px, std::uint32_t seed);
/// A page of strokes as small as letters: hard edges, where ringing would show.
Picture page(int width_px, int height_px, std::uint32_t seed);
/// Rings that narrow outwards to two pixels a period: moiré shows where a filter is too short.
Picture rings(int width_px, int height_px, std::uint32_t seed);
/// Shaded balls on a woven cloth.
Picture still_life(int width_px, int height_px, std::uint32_t seed);

}  // namespace framewire::tools
