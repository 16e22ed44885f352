// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace framewire::base {

/// One character at the start of a text.
struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0 where the text is empty or does not begin with UTF-8
};

/// Source: RFC 3629, section 4: no overlong forms, no surrogates, nothing beyond U+10FFFF.
[[nodiscard]] constexpr Utf8Character first_character(std::string_view text) noexcept {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kMin[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

/// Whether all of a text is UTF-8.
[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// Whether a terminal acts on the character instead of showing it: C0, DEL, C1.
[[nodiscard]] constexpr bool is_control(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/// Whether a terminal or an editor acts on the character instead of showing it: controls, line
/// separators, and what turns the direction of the text behind it.
[[nodiscard]] constexpr bool is_unprintable(std::uint32_t code) noexcept {
  const bool turns_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                               (code >= 0x202a && code <= 0x202e) ||
                               (code >= 0x2066 && code <= 0x2069);
  return is_control(code) || code == 0x2028 || code == 0x2029 || turns_direction;
}

/// Somebody else's text, to be shown: with a `?` for each unprintable character and for each byte
/// that is no UTF-8.
[[nodiscard]] inline std::string shown_safely(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool is_shown = character.bytes != 0 && !is_unprintable(character.code);
    const std::string_view taken = text.substr(0, character.bytes == 0 ? 1 : character.bytes);
    if (is_shown) {
      shown += taken;
    } else {
      shown += '?';
    }
    text.remove_prefix(taken.size());
  }
  return shown;
}

}  // namespace framewire::base
