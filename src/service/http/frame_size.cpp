#include <algorithm>
#include <base/clock.hpp>
#include <framewire/options.hpp>
#include <jpeg/bytes.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/walker.hpp>
#include <jpeg/xmp.hpp>
#include <limits>
#include <service/http/frame_size.hpp>

namespace framewire::service::http {
namespace {

constexpr int kMaxMarkers = 4096;
constexpr std::uint64_t kMaxFrameSide_px = 65'535;
// This is asked on a thread of sockets. Files of cameras take microseconds.
constexpr std::uint32_t kMaxSearch_ms = 5;

bool has_payload(std::uint8_t code) noexcept {
  const bool stands_alone = code == 0x01 || (code >= 0xD0 && code <= 0xD9);
  return !stands_alone;
}

/// What comes before the first scan's data.
struct FileHead {
  std::uint64_t width_px = 0;
  std::uint64_t height_px = 0;
  bool is_endless = false;    ///< more markers than are looked at, and no frame among them
  bool may_have_map = false;  ///< a gain map, to be decoded beside the picture
};

bool tells_of_gain_map(const jpeg::MarkerView& segment) {
  if (segment.code == jpeg::marker::kApp2) {
    return jpeg::starts_with(segment.payload, jpeg::kIsoGainMapId);
  }
  return segment.code == jpeg::marker::kApp1 && jpeg::starts_with(segment.payload, jpeg::kXmpId) &&
         jpeg::xmp_declares_gain_map(segment.payload.subspan(jpeg::kXmpId.size()));
}

// Throws std::bad_alloc.
FileHead read_head(std::span<const std::uint8_t> bytes) {
  FileHead head;
  jpeg::Walker walker(bytes);
  std::size_t components = 0;
  for (int i = 0; i < kMaxMarkers; ++i) {
    auto marker = walker.next_marker();
    if (!marker) return head;
    if (!has_payload(marker->code)) continue;
    (void)walker.read_segment(*marker);
    const auto payload = marker->payload;
    if (marker->code == jpeg::marker::kSos) {
      // Where other scans follow, so may segments that tell of a gain map.
      if (!payload.empty() && payload[0] != components) head.may_have_map = true;
      return head;
    }
    if (jpeg::is_frame(marker->code)) {
      // P, Y high, Y low, X high, X low, Nf (T.81 B.2.2).
      if (components != 0 || payload.size() < 6) return head;
      head.height_px = static_cast<std::uint64_t>(payload[1] << 8 | payload[2]);
      head.width_px = static_cast<std::uint64_t>(payload[3] << 8 | payload[4]);
      components = payload[5];
      const bool one_scan = marker->code == jpeg::marker::kSof0 || marker->code == 0xC1;
      if (!one_scan) head.may_have_map = true;
    } else {
      head.may_have_map = head.may_have_map || tells_of_gain_map(*marker);
    }
  }
  head.is_endless = components == 0;
  head.may_have_map = true;
  return head;
}

// @return `most` where it takes too long to be found
std::uint64_t count_gain_map_pixels(std::span<const std::uint8_t> bytes, std::uint64_t limit,
                                    std::uint64_t most) {
  // The engine has limits of its own: here nothing is refused that it may take.
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  Limits limits;
  limits.max_input_bytes = limits.max_scan_pixels = kAny;
  limits.max_input_pixels = limit;
  limits.max_scans = std::numeric_limits<std::uint32_t>::max();
  const auto file =
      jpeg::parse(bytes, limits, jpeg::ParseDepth::kThroughFirst, base::Deadline(kMaxSearch_ms));
  if (!file) return file.error().code() == StatusCode::kDeadline ? most : 0;
  const FileHead map = read_head(jpeg::gain_map_bytes(*file));
  if (map.is_endless || (map.height_px == 0 && map.width_px != 0)) return most;
  const std::uint64_t pixels = map.width_px * map.height_px;
  return pixels > limit ? 0 : pixels;
}

}  // namespace

std::uint64_t count_frame_pixels(std::span<const std::uint8_t> jpeg) noexcept try {
  const FileHead head = read_head(jpeg);
  return head.width_px * head.height_px;
} catch (...) {  // memory ran out
  return 0;
}

std::uint64_t count_pixels_to_decode(std::span<const std::uint8_t> jpeg,
                                     std::uint64_t limit) noexcept {
  const std::uint64_t most = std::min(limit, kMaxFrameSide_px * kMaxFrameSide_px);
  try {
    const FileHead head = read_head(jpeg);
    if (head.is_endless) return most;
    // T.81 B.2.5: a height of 0 is told behind the first scan.
    const std::uint64_t pixels = head.height_px == 0
                                     ? std::min(most, head.width_px * kMaxFrameSide_px)
                                     : head.width_px * head.height_px;
    if (pixels > limit) return 0;
    return head.may_have_map && pixels != 0 ? pixels + count_gain_map_pixels(jpeg, limit, most)
                                            : pixels;
  } catch (...) {  // memory ran out
    return most;
  }
}

}  // namespace framewire::service::http
