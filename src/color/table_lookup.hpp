// Reading a PixelTable (pixel_table.hpp), for host and device alike; knows no LittleCMS.
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <cstdint>

namespace framewire::color {

/// What a table holds, by the profile's kind.
enum class TableKind : std::uint32_t {
  kNone,      ///< no profile: numbers stay
  kCurve,     ///< gray: [256] uint8
  kShaper,    ///< RGB by curves and a matrix: a ShaperTable
  kAdditive,  ///< the same with a black that is not 0: [3 channels][256] of 4 floats, linear light
  kLattice3,  ///< RGB by a table: [n][n][n] of 4 uint16, n = kRgbNodes
  kLattice4,  ///< CMYK: [n][n][n][n] of 4 uint16, n = kCmykNodes
};

/// Nodes an axis of RGB and of CMYK tables: as many as LittleCMS itself resamples to, so that its
/// nodes are ours.
inline constexpr int kRgbNodes = 33;
inline constexpr int kCmykNodes = 17;

/// Curves and a matrix in 1.14 fixed point; no sum of products leaves 32 bits.
struct ShaperTable {
  std::int32_t matrix[9];      ///< row by row, from a profile's light to linear sRGB
  std::int32_t unused;         ///< the curves begin at a multiple of 8
  std::int16_t light[3][256];  ///< of each channel's samples
};
/// Samples of srgb_samples(): of light from 0 to 1 in steps of 1/16,384.
inline constexpr int kSrgbSamples = 16385;

/// @param in   [3] @param out  [3]
FW_HD inline void shape(const ShaperTable& table, const std::uint8_t* samples, const int* in,
                        int* out) {
  const std::int32_t r = table.light[0][in[0]];
  const std::int32_t g = table.light[1][in[1]];
  const std::int32_t b = table.light[2][in[2]];
  for (int k = 0; k < 3; ++k) {
    const std::int32_t* row = table.matrix + 3 * k;
    const std::int32_t light = (row[0] * r + row[1] * g + row[2] * b + 0x2000) >> 14;
    out[k] = samples[light < 0 ? 0 : light > kSrgbSamples - 1 ? kSrgbSamples - 1 : light];
  }
}

/// Nearest, ties to even (as SIMD conversions round), clamped to a sample.
FW_HD inline int round_sample(float value) {
  const float clamped = value < 0.f ? 0.f : value > 255.f ? 255.f : value;
#if defined(__CUDA_ARCH__)
  return __float2int_rn(clamped);
#else
  return static_cast<int>(std::nearbyintf(clamped));
#endif
}

/// Linear light to an sRGB sample (IEC 61966-2-1).
FW_HD inline int encode_srgb(float linear) {
  if (linear <= 0.0031308f) return round_sample(linear * (12.92f * 255.f));
  return round_sample(1.055f * 255.f * powf(linear, 1.f / 2.4f) - 0.055f * 255.f);
}

/// Cell and place within it of a sample on an axis of n nodes.
struct LatticePlace {
  int cell;
  float fraction;
};
FW_HD inline LatticePlace place_on_axis(int sample, int nodes) {
  const float at = static_cast<float>(sample * (nodes - 1)) / 255.f;
  int cell = static_cast<int>(at);
  if (cell > nodes - 2) cell = nodes - 2;
  return {cell, at - static_cast<float>(cell)};
}

/// Tetrahedral interpolation (Kasson, Plouffe and Nin, 1993): walks from a cell's first corner
/// along the axes, the axis with the largest fraction first.
FW_HD inline void interpolate_3(const std::uint16_t* nodes, int count, const int* in, float* out) {
  LatticePlace a = place_on_axis(in[0], count);
  LatticePlace b = place_on_axis(in[1], count);
  LatticePlace c = place_on_axis(in[2], count);
  const std::uint16_t* node = nodes + ((a.cell * count + b.cell) * count + c.cell) * 4;
  a.cell = count * count * 4, b.cell = count * 4, c.cell = 4;  // from here on: steps
  const auto order = [](LatticePlace& x, LatticePlace& y) {
    if (x.fraction >= y.fraction) return;
    const LatticePlace kept = x;
    x = y, y = kept;
  };
  order(a, b), order(b, c), order(a, b);
  const float weights[4] = {1.f - a.fraction, a.fraction - b.fraction, b.fraction - c.fraction,
                            c.fraction};
  const int steps[4] = {0, a.cell, b.cell, c.cell};
  for (int k = 0; k < 3; ++k) out[k] = 0.f;
  for (int i = 0; i < 4; ++i) {
    node += steps[i];
    for (int k = 0; k < 3; ++k) out[k] += weights[i] * static_cast<float>(node[k]);
  }
}

/// Interpolates the first axis linearly between two lattices of the other three.
FW_HD inline void interpolate_4(const std::uint16_t* nodes, int count, const int* in, float* out) {
  const LatticePlace first = place_on_axis(in[0], count);
  const int volume = count * count * count * 4;
  float next[3];
  interpolate_3(nodes + first.cell * volume, count, in + 1, out);
  interpolate_3(nodes + (first.cell + 1) * volume, count, in + 1, next);
  for (int k = 0; k < 3; ++k) out[k] += first.fraction * (next[k] - out[k]);
}

/// Device sample values (gray, RGB, or CMYK with 255 for full ink) to sRGB, or gray to gray.
/// @param samples  for kShaper: srgb_samples() (shaper.hpp)
/// @param in  [1], [3] or [4] by kind; @param out  [1] or [3]
FW_HD inline void look_up(TableKind kind, const void* table, const std::uint8_t* samples,
                          const int* in, int* out) {
  if (kind == TableKind::kCurve) {
    out[0] = static_cast<const std::uint8_t*>(table)[in[0]];
    return;
  }
  if (kind == TableKind::kShaper) {
    return shape(*static_cast<const ShaperTable*>(table), samples, in, out);
  }
  float values[3];
  if (kind == TableKind::kAdditive) {
    const auto* light = static_cast<const float*>(table);
    for (int k = 0; k < 3; ++k) {
      out[k] = encode_srgb(light[in[0] * 4 + k] + light[(256 + in[1]) * 4 + k] +
                           light[(512 + in[2]) * 4 + k]);
    }
    return;
  }
  const auto* nodes = static_cast<const std::uint16_t*>(table);
  if (kind == TableKind::kLattice3) interpolate_3(nodes, kRgbNodes, in, values);
  if (kind == TableKind::kLattice4) interpolate_4(nodes, kCmykNodes, in, values);
  for (int k = 0; k < 3; ++k) out[k] = round_sample(values[k] * (1.f / 257.f));
}

}  // namespace framewire::color
