// Arithmetic that cannot wrap: sizes computed from untrusted headers go through here.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace framewire::base {

/// a × b, or nothing if it does not fit.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  if (a != 0 && b > std::numeric_limits<T>::max() / a) return std::nullopt;
  return static_cast<T>(a * b);
}

/// a + b, or nothing if it does not fit.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  if (b > std::numeric_limits<T>::max() - a) return std::nullopt;
  return static_cast<T>(a + b);
}

/// ⌈a / b⌉ for a ≥ 0, b > 0.
template <std::integral T>
[[nodiscard]] constexpr T ceil_div(T a, T b) noexcept {
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}

}  // namespace framewire::base
