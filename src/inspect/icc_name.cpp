#include <algorithm>
#include <inspect/icc_name.hpp>
#include <string_view>

namespace framewire::inspect {
namespace {

using ByteSpan = std::span<const std::uint8_t>;

constexpr std::size_t kHeaderBytes = 128;
constexpr std::uint32_t kMaxTags = 1000;

// Empty where the range does not lie within the bytes.
ByteSpan part(ByteSpan bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(offset, size);
}

// 0 beyond the end: no count or offset there is meant.
std::uint32_t u32(ByteSpan bytes, std::size_t offset) {
  const ByteSpan four = part(bytes, offset, 4);
  if (four.empty()) return 0;
  return std::uint32_t{four[0]} << 24 | std::uint32_t{four[1]} << 16 | std::uint32_t{four[2]} << 8 |
         four[3];
}

constexpr std::uint32_t signature(std::string_view word) {
  std::uint32_t value = 0;
  for (const char c : word) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

ByteSpan find_tag(ByteSpan profile, std::uint32_t wanted) {
  const std::uint32_t count = std::min(u32(profile, kHeaderBytes), kMaxTags);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t row = kHeaderBytes + 4 + std::size_t{12} * i;
    if (u32(profile, row) == wanted) {
      return part(profile, u32(profile, row + 4), u32(profile, row + 8));
    }
  }
  return {};
}

std::string ascii_until_nul(ByteSpan text) {
  return {text.begin(), std::find(text.begin(), text.end(), std::uint8_t{0})};
}

// Basic Latin is what descriptions are written in; the rest shows as a question mark.
std::string utf16_to_ascii(ByteSpan text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    if (text[i] == 0 && text[i + 1] == 0) break;  // the end, for writers that count it in
    const bool plain = text[i] == 0 && text[i + 1] >= 0x20 && text[i + 1] < 0x7f;
    out += plain ? static_cast<char>(text[i + 1]) : '?';
  }
  return out;
}

}  // namespace

std::string icc_name(ByteSpan profile) {
  const ByteSpan tag = find_tag(profile, signature("desc"));
  if (u32(tag, 0) == signature("desc")) return ascii_until_nul(part(tag, 12, u32(tag, 8)));
  if (u32(tag, 0) == signature("mluc") && u32(tag, 8) > 0) {
    return utf16_to_ascii(part(tag, u32(tag, 24), u32(tag, 20)));
  }
  return {};
}

}  // namespace framewire::inspect
