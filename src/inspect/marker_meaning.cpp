#include <fmt/format.h>
#include <algorithm>
#include <inspect/marker_meaning.hpp>
#include <jpeg/markers.hpp>
#include <string_view>
#include <vector>

namespace framewire::inspect {
namespace {

namespace marker = jpeg::marker;
using ByteSpan = std::span<const std::uint8_t>;

// The segment without marker and length; clipped to what the file has.
ByteSpan payload_of(const jpeg::JpegFile& file, const jpeg::MarkerEntry& entry) {
  const std::size_t start = std::min(entry.offset + 4, file.bytes.size());
  const std::size_t end = std::min(entry.offset + entry.bytes, file.bytes.size());
  return end > start ? file.bytes.subspan(start, end - start) : ByteSpan{};
}

std::uint32_t u16(ByteSpan bytes, std::size_t offset) {
  if (offset + 2 > bytes.size()) return 0;
  return std::uint32_t{bytes[offset]} << 8 | bytes[offset + 1];
}

bool begins(ByteSpan bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

std::string app_meaning(ByteSpan payload) {
  using namespace std::string_view_literals;
  if (begins(payload, "ICC_PROFILE\0"sv) && payload.size() >= 14) {
    return fmt::format("ICC profile, part {} of {}", payload[12], payload[13]);
  }
  struct Known {
    std::string_view prefix;
    std::string_view meaning;
  };
  static constexpr Known kKnown[] = {
      {"JFIF\0"sv, "JFIF header"},
      {"JFXX\0"sv, "JFIF extension"},
      {"Exif\0"sv, "EXIF"},
      {"http://ns.adobe.com/xap/1.0/\0"sv, "XMP"},
      {"http://ns.adobe.com/xmp/extension/\0"sv, "XMP, extended"},
      {"MPF\0"sv, "multi-picture index"},
      {"urn:iso:std:iso:ts:21496:-1\0"sv, "ISO gain map"},
      {"Photoshop 3.0\0"sv, "Photoshop resources (IPTC)"},
      {"Adobe"sv, "Adobe colour transform"},
      {"Ducky"sv, "Photoshop, save for web"},
      {"AVI1"sv, "motion JPEG field"},
  };
  for (const Known& known : kKnown) {
    if (begins(payload, known.prefix)) return std::string(known.meaning);
  }
  return "application data";
}

// A word for each table of a DQT or DHT segment, until its bytes run out.
std::string table_list(std::uint8_t code, ByteSpan rest) {
  std::vector<std::string> tables;
  while (!rest.empty()) {
    const int high = rest[0] >> 4;
    const int slot = rest[0] & 15;
    std::size_t size = 0;
    if (code == marker::kDqt) {
      size = high == 0 ? 65 : 129;
      tables.push_back(fmt::format("{} ({} bit)", slot, high == 0 ? 8 : 16));
    } else {
      size = 17;
      for (std::size_t i = 1; i < std::min<std::size_t>(rest.size(), 17); ++i) size += rest[i];
      tables.push_back(fmt::format("{}{}", high == 0 ? "DC" : "AC", slot));
    }
    rest = rest.subspan(std::min(size, rest.size()));
  }
  return fmt::format("table{} {}", tables.size() == 1 ? "" : "s", fmt::join(tables, ", "));
}

std::string scan_meaning(ByteSpan payload) {
  if (payload.empty()) return {};
  const std::size_t count = std::min<std::size_t>(payload[0], 4);
  if (payload.size() < 4 + 2 * count) return {};
  std::vector<int> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(payload[1 + 2 * i]);
  const ByteSpan tail = payload.subspan(1 + 2 * count);
  return fmt::format("component{} {}; coefficients {} to {}, bits {} to {}",
                     ids.size() == 1 ? "" : "s", fmt::join(ids, ", "), tail[0], tail[1],
                     tail[2] >> 4, tail[2] & 15);
}

std::string restart_meaning(ByteSpan payload) {
  const std::uint32_t interval = u16(payload, 0);
  return interval == 0 ? "no restarts" : fmt::format("restart every {} MCUs", interval);
}

std::string frame_meaning(ByteSpan payload) {
  if (payload.size() < 6) return {};
  return fmt::format("{}x{}, {} component{}, {} bit", u16(payload, 3), u16(payload, 1), payload[5],
                     payload[5] == 1 ? "" : "s", payload[0]);
}

}  // namespace

std::string marker_meaning(const jpeg::JpegFile& file, const jpeg::MarkerEntry& entry) {
  const ByteSpan payload = payload_of(file, entry);
  if (jpeg::is_frame(entry.marker)) return frame_meaning(payload);
  if (jpeg::is_app(entry.marker)) return app_meaning(payload);
  switch (entry.marker) {
    case marker::kDqt:
    case marker::kDht:
      return table_list(entry.marker, payload);
    case marker::kDac:
      return "arithmetic conditioning";
    case marker::kSos:
      return scan_meaning(payload);
    case marker::kDri:
      return restart_meaning(payload);
    case marker::kDnl:
      return fmt::format("{} lines", u16(payload, 0));
    case marker::kCom:
      return "comment";
    case marker::kSoi:
      return "start of image";
    case marker::kEoi:
      return "end of image";
    default:
      return {};
  }
}

}  // namespace framewire::inspect
