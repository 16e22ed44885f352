// Decimal fractions of options, exact: what stands behind the point decides on which side of a half
// a size falls, and most decimals are no binary fractions.
#pragma once

#include <cmath>
#include <cstdint>

namespace framewire::base {

inline constexpr std::int64_t kBillion = 1'000'000'000;

/// A value as a whole number of billionths. For a value that was read from text with at most nine
/// digits behind the point this is the number that the text states, exactly: below 10^6 such
/// numbers are further apart than a double is wrong. Any other value counts as the nearest
/// billionth.
/// @param value  clamped to [0, 1000]; NaN counts as 0
[[nodiscard]] inline std::int64_t billionths(double value) noexcept {
  constexpr double kMax = 1000;
  if (!(value > 0)) return 0;
  return std::llround((value < kMax ? value : kMax) * static_cast<double>(kBillion));
}

/// ⌊numerator / denominator + ½⌋: to the nearest whole number, halves up.
/// @param numerator  below 2^61 in magnitude
/// @param denominator  positive, below 2^61
[[nodiscard]] constexpr std::int64_t round_half_up(std::int64_t numerator,
                                                   std::int64_t denominator) noexcept {
  const std::int64_t twice = 2 * denominator;
  const std::int64_t shifted = 2 * numerator + denominator;
  // Division of integers rounds to zero; this rounds down.
  return shifted / twice - (shifted % twice < 0 ? 1 : 0);
}

}  // namespace framewire::base
