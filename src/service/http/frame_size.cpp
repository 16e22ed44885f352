#include <jpeg/markers.hpp>
#include <jpeg/walker.hpp>
#include <service/http/frame_size.hpp>

namespace framewire::service::http {
namespace {

constexpr int kMaxMarkers = 4096;

bool has_payload(std::uint8_t code) noexcept {
  const bool stands_alone = code == 0x01 || (code >= 0xD0 && code <= 0xD9);
  return !stands_alone;
}

}  // namespace

std::uint64_t count_frame_pixels(std::span<const std::uint8_t> jpeg) noexcept {
  jpeg::Walker walker(jpeg);
  for (int i = 0; i < kMaxMarkers; ++i) {
    auto marker = walker.next_marker();
    if (!marker || marker->code == jpeg::marker::kSos) return 0;  // a scan before any frame
    if (!has_payload(marker->code)) continue;
    (void)walker.read_segment(*marker);
    if (!jpeg::is_frame(marker->code)) continue;
    // P, Y high, Y low, X high, X low (T.81 B.2.2).
    const auto payload = marker->payload;
    if (payload.size() < 5) return 0;
    const auto height = static_cast<std::uint64_t>(payload[1] << 8 | payload[2]);
    const auto width = static_cast<std::uint64_t>(payload[3] << 8 | payload[4]);
    return width * height;
  }
  return 0;
}

std::uint64_t count_pixels_to_decode(std::span<const std::uint8_t> jpeg,
                                     std::uint64_t limit) noexcept {
  const std::uint64_t pixels = count_frame_pixels(jpeg);
  return pixels > limit ? 0 : pixels;
}

}  // namespace framewire::service::http
