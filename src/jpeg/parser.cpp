#include <fmt/format.h>
#include <algorithm>
#include <jpeg/frame.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/metadata.hpp>
#include <jpeg/parser.hpp>
#include <jpeg/scan.hpp>
#include <jpeg/tables.hpp>
#include <jpeg/walker.hpp>
#include <jpeg/warnings.hpp>
#include <new>
#include <utility>

namespace framewire::jpeg {
namespace {

// Real files have tens of segments; a hostile one could list millions, each costing more memory
// than it has bytes. Those beyond are still obeyed, but no longer listed.
constexpr std::size_t kMaxListed = 16'384;
// A profile of 255 segments takes 17 MB, and whatever is listed may be copied to the output.
constexpr std::size_t kMaxListedBytes = 24u << 20;

/// One pass over a file. Faults before the first scan's data are errors; later ones end the file
/// there, since what came before can be decoded.
class Parser {
 public:
  Parser(ByteSpan bytes, const Limits& limits, ParseDepth depth, base::Deadline deadline)
      : walker_(bytes, deadline), limits_(limits), depth_(depth) {
    file_.bytes = bytes;
    file_.end_offset = bytes.size();
  }

  Result<JpegFile> run();

 private:
  enum class Next : std::uint8_t { kGoOn, kStop };

  Result<JpegFile> read();
  Result<Next> handle(MarkerView& marker);
  Result<Next> handle_segment(MarkerView& marker);
  Result<void> apply(const MarkerView& segment);
  Result<void> read_frame_header(const MarkerView& segment);
  Result<Next> read_scan_header(const MarkerView& segment);
  Result<void> index_entropy();
  Result<void> take_height_from_dnl();
  [[nodiscard]] Status no_height() const;
  Result<void> check_scan_budget() const;
  Result<void> check_unparsed(std::uint8_t code, std::size_t offset) const;
  [[nodiscard]] bool image_complete() const;
  void keep_segment(const MarkerView& segment, SegmentState state);
  void warn_of_metadata(const MarkerView& segment);
  void list_marker(std::uint8_t code, std::size_t offset);
  Result<Next> end_at_fault(const MarkerView& marker, const Status& fault);
  Result<JpegFile> take_result();

  Walker walker_;
  const Limits& limits_;
  ParseDepth depth_;
  JpegFile file_;
  TableState tables_;
  ScanProgress progress_;
  std::size_t listed_bytes_ = 0;  ///< payloads of JpegFile::segments
  bool warned_of_metadata_ = false;
  bool has_frame_ = false;
  bool hierarchical_ = false;
  std::optional<std::size_t> head_segments_;  ///< number of segments before the first scan
};

Result<JpegFile> Parser::run() {
  auto file = read();
  // Walker ends the input where the deadline passes, so whatever happened after that is no fault of
  // the file.
  if (walker_.out_of_time()) {
    return fail(
        Status(StatusCode::kDeadline, "the time allowed ran out while reading the file's markers")
            .at(walker_.position()));
  }
  return file;
}

Result<JpegFile> Parser::read() {
  walker_.seek(2);
  list_marker(marker::kSoi, 0);
  while (true) {
    auto marker = walker_.next_marker();
    if (!marker) {
      file_.truncated = true;
      return take_result();
    }
    if (marker->skipped != 0 && has_room_for_warning(file_)) {
      warn(file_, WarningKind::kExtraneousBytes,
           fmt::format("{} bytes that belong to no segment before {}", marker->skipped,
                       marker_name(marker->code)),
           marker->offset - std::min(marker->offset, marker->skipped));
    }
    auto next = handle(*marker);
    if (!next) next = end_at_fault(*marker, next.error());
    if (!next) return fail(next.error());
    if (*next == Next::kStop) return take_result();
  }
}

Result<Parser::Next> Parser::end_at_fault(const MarkerView& marker, const Status& fault) {
  if (file_.scans.empty() || fault.code() == StatusCode::kTooLarge) return fail(fault);
  warn(file_, WarningKind::kCorruptData,
       fmt::format("nothing is read beyond a fault after scan {}: {}: {}", file_.scans.size(),
                   fault.subject(), fault.message()),
       marker.offset);
  file_.end_offset = marker.offset;
  return Next::kStop;
}

Result<Parser::Next> Parser::handle(MarkerView& marker) {
  if (marker.code == marker::kEoi) {
    list_marker(marker.code, marker.offset);
    file_.end_offset = walker_.position();
    return Next::kStop;
  }
  if (is_restart(marker.code) || marker.code == marker::kTem) {
    list_marker(marker.code, marker.offset);
    return Next::kGoOn;
  }
  if (auto ok = check_unparsed(marker.code, marker.offset); !ok) return fail(ok.error());
  return handle_segment(marker);
}

/// Refuses markers whose bytes cannot be skipped, as nothing is known about them.
Result<void> Parser::check_unparsed(std::uint8_t code, std::size_t offset) const {
  const bool reserved = code < marker::kSof0 || (code >= 0xF0 && code <= 0xFD);
  if (!reserved && code != marker::kSoi && code != marker::kJpg) return {};
  const auto name = std::string(marker_name(code));
  if (code == marker::kSoi) {
    return fail(Status(StatusCode::kInvalidInput, "a second SOI inside one image; EOI comes first")
                    .at(offset)
                    .about(name));
  }
  if (code == marker::kJpg) {
    return fail(
        Status(StatusCode::kUnsupported, "a reserved coding process").at(offset).about(name));
  }
  return fail(Status(StatusCode::kInvalidInput, fmt::format("reserved marker 0x{:02X}", code))
                  .at(offset)
                  .about(name));
}

Result<Parser::Next> Parser::handle_segment(MarkerView& marker) {
  const SegmentState state = walker_.read_segment(marker);
  const bool optional =
      is_app(marker.code) || marker.code == marker::kCom || marker.code == marker::kDnl;
  if (optional) keep_segment(marker, state);
  if (state == SegmentState::kCut) {
    file_.truncated = true;
    file_.end_offset = marker.offset;
    return Next::kStop;
  }
  if (!optional) {
    if (state == SegmentState::kShortLength) {
      return fail(Status(StatusCode::kInvalidInput, "a segment length below 2")
                      .at(marker.offset)
                      .about(std::string(marker_name(marker.code))));
    }
    if (marker.code == marker::kSos) return read_scan_header(marker);
    if (auto ok = apply(marker); !ok) return fail(ok.error());
  }
  list_marker(marker.code, marker.offset);
  return Next::kGoOn;
}

void Parser::keep_segment(const MarkerView& segment, SegmentState state) {
  if (state != SegmentState::kWhole && has_room_for_warning(file_)) {
    warn(file_, WarningKind::kBadSegment,
         fmt::format("{} {}", marker_name(segment.code),
                     state == SegmentState::kCut ? "is cut off by the end of input"
                                                 : "has a length below 2"),
         segment.offset);
  }
  if (state == SegmentState::kWhole && segment.code != marker::kDnl &&
      file_.segments.size() < kMaxListed) {
    if (listed_bytes_ + segment.payload.size() > kMaxListedBytes) return warn_of_metadata(segment);
    listed_bytes_ += segment.payload.size();
    file_.segments.push_back({segment.code, segment.offset, segment.payload});
  }
}

void Parser::warn_of_metadata(const MarkerView& segment) {
  if (std::exchange(warned_of_metadata_, true)) return;
  warn(file_, WarningKind::kBadSegment,
       fmt::format("metadata beyond {} bytes is left out", kMaxListedBytes), segment.offset);
}

Result<void> Parser::apply(const MarkerView& segment) {
  if (is_frame(segment.code)) return read_frame_header(segment);
  switch (segment.code) {
    case marker::kDqt:
      return read_dqt(segment, tables_);
    case marker::kDht:
      return read_dht(segment, tables_);
    case marker::kDac:
      return read_dac(segment, tables_);
    case marker::kDri:
      return read_dri(segment, tables_);
    default:  // DHP and EXP: hierarchical frames are named, not decoded
      hierarchical_ = true;
      file_.frame.hierarchical = true;
      return {};
  }
}

Result<void> Parser::read_frame_header(const MarkerView& segment) {
  if (has_frame_) {
    if (file_.frame.hierarchical) return {};
    return fail(
        Status(StatusCode::kInvalidInput,
               fmt::format("a second frame header; the first is at byte {}", file_.frame.offset))
            .at(segment.offset)
            .about("SOF"));
  }
  auto frame = read_frame(segment, hierarchical_, limits_);
  if (!frame) return fail(frame.error());
  file_.frame = *frame;
  has_frame_ = true;
  return {};
}

bool Parser::image_complete() const {
  const auto process = file_.frame.process;
  return (process == Process::kBaseline || process == Process::kExtended) &&
         !file_.frame.hierarchical && !file_.scans.empty() &&
         file_.scans.front().component_count == file_.frame.component_count;
}

Result<Parser::Next> Parser::read_scan_header(const MarkerView& segment) {
  if (!has_frame_) {
    return fail(Status(StatusCode::kInvalidInput, "a scan before any frame header")
                    .at(segment.offset)
                    .about("SOS"));
  }
  if (image_complete()) {
    return fail(Status(StatusCode::kInvalidInput, "a further scan of an image that is complete")
                    .at(segment.offset)
                    .about("SOS"));
  }
  auto scan = read_scan(segment, tables_, progress_, file_);
  if (!scan) return fail(scan.error());
  if (!head_segments_) head_segments_ = file_.segments.size();
  scan->entropy_offset = walker_.position();
  file_.scans.push_back(*scan);
  bool stop = depth_ == ParseDepth::kThroughFirst && image_complete() && file_.frame.height_px != 0;
  if (stop) {
    walker_.seek(file_.bytes.size());
  } else if (auto ok = index_entropy(); !ok) {
    return fail(ok.error());
  }
  file_.scans.back().entropy_bytes = walker_.position() - scan->entropy_offset;
  list_marker(marker::kSos, segment.offset);
  if (auto ok = check_scan_budget(); !ok) return fail(ok.error());
  stop = stop || file_.end_offset < file_.bytes.size();
  return stop ? Next::kStop : Next::kGoOn;
}

Result<void> Parser::index_entropy() {
  std::optional<std::size_t> damage;
  walker_.skip_entropy(damage);
  if (damage) {
    warn(file_, WarningKind::kCorruptData, "a reserved marker inside entropy-coded data", *damage);
    // libjpeg gives up here on a file with further scans, unless restart markers let it go on.
    if (!image_complete() && file_.scans.back().restart_interval_mcus == 0) {
      file_.end_offset = *damage;
      walker_.seek(*damage);
    }
  }
  return file_.frame.height_px == 0 ? take_height_from_dnl() : Result<void>();
}

/// The number of lines where the frame header left it open (T.81 B.2.5).
Result<void> Parser::take_height_from_dnl() {
  const std::size_t resume = walker_.position();
  auto marker = walker_.next_marker();
  const bool is_dnl = marker && marker->code == marker::kDnl &&
                      walker_.read_segment(*marker) == SegmentState::kWhole &&
                      marker->payload.size() == 2;
  const std::int32_t height = is_dnl ? read_u16(marker->payload, 0) : 0;
  walker_.seek(resume);
  if (height == 0) {
    file_.scans.clear();  // so that the fault counts as one before the first scan
    return fail(no_height());
  }
  file_.frame.height_from_dnl = true;
  return set_height(file_.frame, height, limits_);
}

Status Parser::no_height() const {
  return Status(StatusCode::kInvalidInput,
                "an image 0 lines high, and no DNL after its first scan says otherwise")
      .at(file_.frame.offset)
      .about("SOF");
}

Result<void> Parser::check_scan_budget() const {
  const auto scans = static_cast<std::uint64_t>(file_.scans.size());
  const auto& last = file_.scans.back();
  if (scans > limits_.max_scans) {
    return fail(Status(StatusCode::kTooLarge, fmt::format("more than {} scans", limits_.max_scans))
                    .at(last.offset)
                    .about("SOS"));
  }
  const auto pixels = static_cast<std::uint64_t>(file_.frame.width_px) *
                      static_cast<std::uint64_t>(file_.frame.height_px);
  if (pixels * scans <= limits_.max_scan_pixels) return {};
  return fail(
      Status(StatusCode::kTooLarge,
             fmt::format("{} scans of {}×{} pixels; the limit is {} scanned pixels", scans,
                         file_.frame.width_px, file_.frame.height_px, limits_.max_scan_pixels))
          .at(last.offset)
          .about("SOS"));
}

void Parser::list_marker(std::uint8_t code, std::size_t offset) {
  if (file_.markers.size() < kMaxListed) {
    file_.markers.push_back({code, offset, walker_.position() - offset});
  }
}

Result<JpegFile> Parser::take_result() {
  if (!has_frame_) {
    return fail(Status(StatusCode::kInvalidInput,
                       file_.truncated ? "the input ends before any frame header (SOF)"
                                       : "EOI before any frame header (SOF)")
                    .at(file_.truncated ? file_.bytes.size() : file_.end_offset));
  }
  if (file_.frame.height_px == 0) return fail(no_height());
  if (file_.truncated) {
    warn(file_, WarningKind::kTruncated, "the input ends before EOI", file_.end_offset);
  }
  std::array<bool, kMaxComponents> seen{};
  for (const auto& scan : file_.scans) {
    for (int i = 0; i < scan.component_count; ++i) {
      seen[scan.component[static_cast<std::size_t>(i)]] = true;
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(file_.frame.component_count); ++i) {
    if (!seen[i]) {
      warn(file_, WarningKind::kMissingScan, fmt::format("no scan carries component {}", i));
    }
  }
  interpret_metadata(file_, head_segments_.value_or(file_.segments.size()));
  return std::move(file_);
}

}  // namespace

Result<JpegFile> parse(ByteSpan bytes, const Limits& limits, ParseDepth depth,
                       base::Deadline deadline) {
  if (bytes.size() > limits.max_input_bytes) {
    return fail(StatusCode::kTooLarge, fmt::format("{} bytes of input; the limit is {}",
                                                   bytes.size(), limits.max_input_bytes));
  }
  if (bytes.size() < 2 || bytes[0] != 0xFF || bytes[1] != marker::kSoi) {
    return fail(Status(StatusCode::kInvalidInput, "no JPEG: it does not start with FF D8").at(0));
  }
  try {
    return Parser(bytes, limits, depth, deadline).run();
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "out of memory while reading JPEG headers");
  }
}

}  // namespace framewire::jpeg
