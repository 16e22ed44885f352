// Big-endian fields of a byte span, and the shapes of segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace framewire::jpeg {

using ByteSpan = std::span<const std::uint8_t>;
using Bytes = std::vector<std::uint8_t>;

/// Two bytes at `at`, which the caller has checked to exist.
[[nodiscard]] inline std::uint16_t read_u16(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}
[[nodiscard]] inline std::uint32_t read_u32(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_u16(bytes, at)) << 16 | read_u16(bytes, at + 2);
}

inline void append_u16(Bytes& out, std::uint32_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}
inline void append_u32(Bytes& out, std::uint32_t value) {
  append_u16(out, value >> 16);
  append_u16(out, value & 0xFFFF);
}
inline void append_bytes(Bytes& out, ByteSpan bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
inline void append_text(Bytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

[[nodiscard]] inline bool starts_with(ByteSpan bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}
[[nodiscard]] inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace framewire::jpeg
