#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/head_parser.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/walker.hpp>

namespace framewire::jpeg {
namespace {

/// Whether there are pictures behind the first one that the head speaks of.
bool tells_of_more_pictures(const JpegFile& file) {
  return primary_declares_gain_map(file) ||
         std::any_of(file.segments.begin(), file.segments.end(), [](const Segment& segment) {
           return segment.marker == marker::kApp2 && starts_with(segment.payload, kMpfId);
         });
}

}  // namespace

std::size_t count_head_bytes(ByteSpan bytes, base::Deadline deadline) {
  Walker walker(bytes, deadline);
  walker.seek(2);
  while (auto marker = walker.next_marker()) {
    const std::uint8_t code = marker->code;
    if (code == marker::kEoi) return 0;
    if (is_restart(code) || code == marker::kTem) continue;
    if (walker.read_segment(*marker) == SegmentState::kCut) return 0;
    if (code == marker::kSos) return walker.position();
  }
  return 0;
}

std::optional<JpegFile> parse_head(ByteSpan head, ByteSpan bytes, const Limits& limits,
                                   base::Deadline deadline) {
  if (bytes.size() > limits.max_input_bytes || bytes.size() < head.size()) return std::nullopt;
  auto file = parse(head, limits, ParseDepth::kThroughFirst, deadline);
  // Where the first scan is not all of the picture, parsing stops at the copy's end, where the file
  // goes on.
  if (!file || file->truncated || file->scans.size() != 1) return std::nullopt;
  Scan& scan = file->scans.front();
  if (scan.entropy_offset != head.size() || tells_of_more_pictures(*file)) return std::nullopt;
  scan.entropy_bytes = bytes.size() - head.size();
  if (file->markers.back().marker == marker::kSos) file->markers.back().bytes += scan.entropy_bytes;
  file->end_offset = bytes.size();
  file->bytes = bytes;
  return std::move(*file);
}

}  // namespace framewire::jpeg
