// Numbers on the command line.
#pragma once

#include <charconv>
#include <limits>
#include <string_view>

namespace framewire::app {

/// Takes the whole text as a number from low to high. @return false, and `out` undefined, otherwise
template <typename Number>
[[nodiscard]] bool parse_number(std::string_view text, Number low, Number high, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return !text.empty() && error == std::errc{} && stop == end && out >= low && out <= high;
}

template <typename Number>
[[nodiscard]] bool parse_number(std::string_view text, Number& out) {
  using Limits = std::numeric_limits<Number>;
  return parse_number(text, Limits::lowest(), Limits::max(), out);
}

}  // namespace framewire::app
