#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/walker.hpp>
#include <jpeg/warnings.hpp>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

// An index may list thousands of images; a gain map is among the first.
constexpr std::size_t kMaxCandidates = 8;

bool is_iso_gain_map(std::uint8_t code, ByteSpan payload) {
  return code == marker::kApp2 && starts_with(payload, kIsoGainMapId);
}

/// Whether an image's own head says how to apply it: hdrgm XMP or ISO metadata.
bool describes_gain_map(ByteSpan image) {
  if (image.size() < 4 || image[0] != 0xFF || image[1] != marker::kSoi) return false;
  Walker walker(image);
  walker.seek(2);
  bool has_xmp = false;
  while (auto marker = walker.next_marker()) {
    if (marker->code == marker::kSos || marker->code == marker::kEoi) return false;
    if (is_restart(marker->code) || marker->code == marker::kTem) continue;
    if (walker.read_segment(*marker) == SegmentState::kCut) return false;
    if (is_iso_gain_map(marker->code, marker->payload)) return true;
    // Only the first XMP packet of an image counts (xmp.hpp).
    if (!has_xmp && marker->code == marker::kApp1 && starts_with(marker->payload, kXmpId)) {
      has_xmp = true;
      if (xmp_declares_gain_map(marker->payload.subspan(kXmpId.size()))) return true;
    }
  }
  return false;
}

std::optional<std::size_t> find_in_index(const JpegFile& file) {
  for (std::size_t i = 1; i < std::min(file.mpf.size(), kMaxCandidates); ++i) {
    const auto& image = file.mpf[i];
    if (image.offset != 0 && describes_gain_map(file.bytes.subspan(image.offset, image.bytes))) {
      return i;
    }
  }
  return std::nullopt;
}

/// The place that the container directory gives: items lie one after another up to the file's end.
std::optional<MpfImage> find_by_container(const JpegFile& file) {
  const auto item = find_gain_map_item(as_text(file.xmp));
  if (!item || item->from_end > file.bytes.size() || item->bytes > item->from_end) {
    return std::nullopt;
  }
  const MpfImage image{0, file.bytes.size() - item->from_end, item->bytes};
  if (image.offset == 0 || !describes_gain_map(file.bytes.subspan(image.offset, image.bytes))) {
    return std::nullopt;
  }
  return image;
}

}  // namespace

bool primary_declares_gain_map(const JpegFile& file) {
  return xmp_declares_gain_map(file.xmp) ||
         std::any_of(file.segments.begin(), file.segments.end(), [](const Segment& segment) {
           return is_iso_gain_map(segment.marker, segment.payload);
         });
}

bool xmp_declares_gain_map(ByteSpan xmp) { return declares_gain_map(as_text(xmp)); }

ByteSpan gain_map_bytes(const JpegFile& file) {
  if (!file.gain_map) return {};
  const auto& image = file.mpf[*file.gain_map];
  return file.bytes.subspan(image.offset, image.bytes);
}

void find_gain_map(JpegFile& file) {
  if (!primary_declares_gain_map(file)) return;
  file.gain_map = find_in_index(file);
  if (file.gain_map) return;
  if (const auto image = find_by_container(file)) {
    if (file.mpf.empty()) file.mpf.push_back({0, 0, image->offset});
    file.gain_map = file.mpf.size();
    file.mpf.push_back(*image);
    return;
  }
  warn(file, WarningKind::kGainMapDropped,
       "a gain map is described, but there is no image that is one");
}

}  // namespace framewire::jpeg
