// Letters, digits and blanks of ASCII, whatever the locale.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace framewire::base {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool is_letter(char c) noexcept { return is_lower(c) || is_upper(c); }
[[nodiscard]] constexpr bool is_letter_or_digit(char c) noexcept {
  return is_letter(c) || is_digit(c);
}

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
[[nodiscard]] constexpr char to_upper(char c) noexcept {
  return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}
[[nodiscard]] inline std::string to_lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = to_lower(c);
  return made;
}

/// Whether both are the same but for the case of letters.
[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

/// The text without any of `set` around it.
[[nodiscard]] constexpr std::string_view trim(std::string_view text,
                                              std::string_view set) noexcept {
  const std::size_t first = text.find_first_not_of(set);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(set) - first + 1);
}
/// Without spaces and tabs around it.
[[nodiscard]] constexpr std::string_view trim_blanks(std::string_view text) noexcept {
  return trim(text, " \t");
}
/// Without spaces, tabs and ends of lines around it.
[[nodiscard]] constexpr std::string_view trim_white(std::string_view text) noexcept {
  return trim(text, " \t\r\n");
}

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// The value of a hexadecimal digit of either case, or −1.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char small = to_lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Two digits in lower case for each byte.
[[nodiscard]] inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string made;
  made.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) made += {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  return made;
}

}  // namespace framewire::base
