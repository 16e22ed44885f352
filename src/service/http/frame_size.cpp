#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/walker.hpp>
#include <jpeg/xmp.hpp>
#include <service/http/frame_size.hpp>
#include <string_view>

namespace framewire::service::http {
namespace {

constexpr int kMaxMarkers = 4096;
constexpr std::uint64_t kMaxFrameSide_px = 65'535;
// This is asked on a thread of sockets. It is 8 MB of segments, or 1 MB of fill, which takes some
// milliseconds; files of cameras take microseconds. No clock: what a file counts is no accident.
constexpr std::size_t kMaxSteps = 1u << 19;
// As many as the engine looks at for a gain map.
constexpr std::size_t kMaxCandidates = 8;

bool has_payload(std::uint8_t code) noexcept {
  const bool stands_alone = code == 0x01 || (code >= 0xD0 && code <= 0xD9);
  return !stands_alone;
}

/// What comes before the first scan's data.
struct FileHead {
  std::uint64_t width_px = 0;
  std::uint64_t height_px = 0;
  std::size_t components = 0;   ///< 0: no frame has been found
  bool is_endless = false;      ///< it is longer than what is looked at
  bool has_iso_map = false;     ///< says by ISO 21496-1 that it has, or is, a gain map
  bool has_scans_left = false;  ///< other scans follow, and so may segments between them
  std::span<const std::uint8_t> xmp;
  std::span<const std::uint8_t> index;  ///< of several pictures (MPF), in the file
};

void read_app(const jpeg::MarkerView& segment, FileHead& head) {
  const auto payload = segment.payload;
  if (segment.code == jpeg::marker::kApp2) {
    if (jpeg::starts_with(payload, jpeg::kIsoGainMapId)) head.has_iso_map = true;
    if (head.index.empty() && jpeg::starts_with(payload, jpeg::kMpfId)) head.index = payload;
  } else if (segment.code == jpeg::marker::kApp1 && head.xmp.empty() &&
             jpeg::starts_with(payload, jpeg::kXmpId)) {
    head.xmp = payload.subspan(jpeg::kXmpId.size());
  }
}

FileHead read_head(std::span<const std::uint8_t> bytes) noexcept {
  FileHead head;
  jpeg::Walker walker(bytes);
  walker.bound_work(kMaxSteps);
  for (int i = 0; i < kMaxMarkers; ++i) {
    auto marker = walker.next_marker();
    if (marker && has_payload(marker->code)) (void)walker.read_segment(*marker);
    if (walker.out_of_time()) break;
    if (!marker) return head;
    const auto payload = marker->payload;
    if (marker->code == jpeg::marker::kSos) {
      if (!payload.empty() && payload[0] != head.components) head.has_scans_left = true;
      return head;
    }
    if (jpeg::is_frame(marker->code)) {
      // P, Y high, Y low, X high, X low, Nf (T.81 B.2.2).
      if (head.components != 0 || payload.size() < 6) return head;
      head.height_px = static_cast<std::uint64_t>(payload[1] << 8 | payload[2]);
      head.width_px = static_cast<std::uint64_t>(payload[3] << 8 | payload[4]);
      head.components = payload[5];
      const bool one_scan = marker->code == jpeg::marker::kSof0 || marker->code == 0xC1;
      if (!one_scan) head.has_scans_left = true;
    } else {
      read_app(*marker, head);
    }
  }
  head.is_endless = true;
  return head;
}

bool declares_gain_map(const FileHead& head) {
  return head.has_iso_map || (!head.xmp.empty() && jpeg::xmp_declares_gain_map(head.xmp));
}

// @param image  that may be a gain map
// @return `most` where it hides how many there are
std::uint64_t count_map_pixels(std::span<const std::uint8_t> image, std::uint64_t limit,
                               std::uint64_t most) {
  const FileHead head = read_head(image);
  if (head.is_endless) return most;
  if (!declares_gain_map(head)) return 0;
  if (head.height_px == 0 && head.width_px != 0) return most;
  const std::uint64_t pixels = head.width_px * head.height_px;
  return pixels > limit ? 0 : pixels;
}

// Pixels of the largest image that the engine may take for the gain map (jpeg::find_gain_map()).
// Scans are not looked through for a segment that declares one: it counts as if there were.
// Throws std::bad_alloc.
std::uint64_t count_gain_map_pixels(const FileHead& head, std::span<const std::uint8_t> bytes,
                                    std::uint64_t limit, std::uint64_t most) {
  if (head.is_endless) return most;
  if (!head.has_scans_left && !declares_gain_map(head)) return 0;
  std::uint64_t pixels = 0;
  if (!head.index.empty()) {
    const auto at = static_cast<std::size_t>(head.index.data() - bytes.data());
    const auto images = jpeg::read_mpf(head.index, at, bytes).images;
    for (std::size_t i = 1; i < std::min(images.size(), kMaxCandidates); ++i) {
      const auto image = bytes.subspan(images[i].offset, images[i].bytes);
      if (images[i].offset != 0) pixels = std::max(pixels, count_map_pixels(image, limit, most));
    }
  }
  const std::string_view xmp(reinterpret_cast<const char*>(head.xmp.data()), head.xmp.size());
  const auto item = xmp.empty() ? std::nullopt : jpeg::find_gain_map_item(xmp);
  if (!item || item->from_end >= bytes.size() || item->bytes > item->from_end) return pixels;
  const auto image = bytes.last(item->from_end).first(item->bytes);
  return std::max(pixels, count_map_pixels(image, limit, most));
}

}  // namespace

std::uint64_t count_frame_pixels(std::span<const std::uint8_t> jpeg) noexcept {
  const FileHead head = read_head(jpeg);
  return head.width_px * head.height_px;
}

std::uint64_t count_pixels_to_decode(std::span<const std::uint8_t> jpeg,
                                     std::uint64_t limit) noexcept {
  const std::uint64_t most = std::min(limit, kMaxFrameSide_px * kMaxFrameSide_px);
  try {
    const FileHead head = read_head(jpeg);
    if (head.is_endless && head.components == 0) return most;
    // T.81 B.2.5: a height of 0 is told behind the first scan.
    const std::uint64_t pixels = head.height_px == 0
                                     ? std::min(most, head.width_px * kMaxFrameSide_px)
                                     : head.width_px * head.height_px;
    if (pixels > limit) return 0;
    return pixels == 0 ? 0 : pixels + count_gain_map_pixels(head, jpeg, limit, most);
  } catch (...) {  // memory ran out
    return most;
  }
}

}  // namespace framewire::service::http
