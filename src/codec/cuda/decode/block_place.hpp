// Where a block of a plane lies, in its plane and in its scan, and how its levels become floats:
// what the inverse transforms share.
#pragma once

#include <codec/cuda/decode/descriptors.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Position of a block in its plane.
struct BlockPlace {
  std::uint32_t x;
  std::uint32_t y;
};

/// Quotient and remainder of index / width by a float reciprocal, then corrected by one where
/// rounding was off.
__device__ inline BlockPlace place_block(std::uint32_t index, std::uint32_t width) {
  auto y =
      static_cast<std::uint32_t>(__fdividef(static_cast<float>(index), static_cast<float>(width)));
  if (y * width > index) --y;
  if ((y + 1) * width <= index) ++y;
  return {index - y * width, y};
}

/// Position of one of the blocks that are transformed.
__device__ inline BlockPlace place_needed(const PlaneDesc& plane, std::uint32_t index) {
  const BlockPlace place = place_block(index, plane.columns);
  return {plane.first_column + place.x, plane.first_row + place.y};
}

__device__ inline bool is_needed(const PlaneDesc& plane, BlockPlace place) {
  return place.x - plane.first_column < plane.columns && place.y - plane.first_row < plane.rows;
}

/// Quotient by a sampling factor of 1 to 4.
__device__ inline std::uint32_t divide_small(std::uint32_t value, std::uint32_t by) {
  return by == 1 ? value : by == 2 ? value >> 1 : by == 4 ? value >> 2 : value / 3;
}

/// Where a block lies in its scan.
struct ScanPlace {
  std::uint32_t mcu;
  std::uint32_t own;  ///< index among the MCU's blocks of this component
};
__device__ inline ScanPlace place_in_scan(const PlaneDesc& plane, BlockPlace place) {
  const std::uint32_t mcu_x = divide_small(place.x, plane.h);
  const std::uint32_t mcu_y = divide_small(place.y, plane.v);
  return {mcu_y * plane.mcu_columns + mcu_x,
          (place.y - mcu_y * plane.v) * plane.h + (place.x - mcu_x * plane.h)};
}
/// Index of a block in its scan.
__device__ inline std::uint32_t block_of(const PlaneDesc& plane, ScanPlace place) {
  return place.mcu * plane.blocks_per_mcu + plane.phase + place.own;
}
__device__ inline std::uint32_t scan_block(const PlaneDesc& plane, BlockPlace place) {
  return block_of(plane, place_in_scan(plane, place));
}

/// Converts the two signed halves of a word to floats.
__device__ inline void to_floats(std::uint32_t word, float& low, float& high) {
  // The float 2^23 + 2^15 + value has the bits of `value`, its sign bit turned, as the lowest of
  // its mantissa.
  constexpr float kBias = 8388608.f + 32768.f;
  const std::uint32_t turned = word ^ 0x80008000u;
  low = __uint_as_float(__byte_perm(turned, 0x4B00u, 0x5410)) - kBias;
  high = __uint_as_float(__byte_perm(turned, 0x4B00u, 0x5432)) - kBias;
}

}  // namespace framewire::codec::cuda
