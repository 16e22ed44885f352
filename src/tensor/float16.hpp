// Single precision rounded once to the two formats of 16 bits, to nearest, ties to even.
//
// Source: IEEE 754-2019, 3.6 (binary16); bfloat16 as in torch: the upper half of a binary32.
#pragma once

#include <bit>
#include <cstdint>

namespace framewire::tensor {

/// @return the bits of the binary16; infinity for what is larger than any, NaN for NaN
[[nodiscard]] constexpr std::uint16_t to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // from 65520 on
  const auto round = [](std::uint32_t significand, int dropped) {
    const std::uint32_t half = 1u << (dropped - 1);
    const std::uint32_t odd = significand >> dropped & 1u;
    return (significand + half - 1 + odd) >> dropped;
  };
  if (magnitude >= 0x38800000u) {  // 2^−14: a carry runs on into the exponent
    return static_cast<std::uint16_t>(sign | round(magnitude - 0x38000000u, 13));
  }
  const int exponent = static_cast<int>(magnitude >> 23);
  if (exponent < 102) return sign;  // less than half of the smallest subnormal
  const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
  return static_cast<std::uint16_t>(sign | round(significand, 126 - exponent));
}

/// @return the bits of the bfloat16
[[nodiscard]] constexpr std::uint16_t to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace framewire::tensor
