#include <algorithm>
#include <codec/turbo/whole_scans.hpp>
#include <engine/hand_on.hpp>
#include <jpeg/body.hpp>
#include <jpeg/markers.hpp>

namespace framewire::engine {
namespace {

/// Whether the file is sound: the warning of a codec that did not take it says nothing about it.
bool has_no_fault(const std::vector<Warning>& warnings) {
  return std::ranges::all_of(
      warnings, [](const Warning& warning) { return warning.kind == WarningKind::kCodecFallback; });
}

bool asks_nothing_of_the_encoder(const ResizeOptions& options) {
  const ResizeOptions defaults;
  return !options.always_encode && options.quality == defaults.quality &&
         options.sampling == defaults.sampling && options.progressive == defaults.progressive &&
         options.optimize_huffman == defaults.optimize_huffman &&
         options.restart_interval_mcus == defaults.restart_interval_mcus &&
         options.max_bytes == defaults.max_bytes && options.sharpen_sigma == defaults.sharpen_sigma;
}

bool shows_all_as_it_is(const plan::Plan& plan, const jpeg::FrameHeader& frame) {
  const plan::Rect whole{0, 0, frame.width_px, frame.height_px};
  const plan::SourceRect all{0, 0, static_cast<double>(whole.width),
                             static_cast<double>(whole.height)};
  return plan.source == all && plan.placement == whole && plan.orientation == 1 &&
         plan.resized_width_px == whole.width && plan.resized_height_px == whole.height &&
         plan.encode.width_px == whole.width && plan.encode.height_px == whole.height &&
         plan.color_path == plan::ColorPath::kPlanar &&
         plan.encode.component_count == frame.component_count;
}

/// Whether each scan's tables stand in the file. Motion JPEG leaves them out, and few decoders
/// know.
bool has_its_tables(const jpeg::JpegFile& file) {
  const bool progressive = file.frame.process == jpeg::Process::kProgressive;
  return std::ranges::all_of(file.scans, [&](const jpeg::Scan& scan) {
    const bool dc = !progressive || (scan.spectral_start == 0 && scan.approx_high == 0);
    const bool ac = !progressive || scan.spectral_start != 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scan.component_count); ++i) {
      if ((dc && scan.dc_table[i] < 0) || (ac && scan.ac_table[i] < 0)) return false;
    }
    return true;
  });
}

/// Whether a marker's segment has the size that its place in a file gives it. Those that may hold
/// anything, or that no decoder reads, have none.
bool has_its_size(const jpeg::MarkerEntry& entry, const jpeg::JpegFile& file) {
  namespace marker = jpeg::marker;
  const jpeg::FrameHeader& frame = file.frame;
  switch (entry.marker) {
    case marker::kSoi:
    case marker::kEoi:
      return true;
    case marker::kDri:
      return entry.bytes == 6;
    case marker::kSos:
      return std::ranges::any_of(file.scans, [&](const jpeg::Scan& scan) {
        const auto components = static_cast<std::size_t>(scan.component_count);
        return scan.offset == entry.offset &&
               scan.entropy_offset - scan.offset == 8 + 2 * components;
      });
    default:
      return entry.marker == frame.sof_marker &&
             entry.bytes == 10 + 3 * static_cast<std::size_t>(frame.component_count);
  }
}

/// Whether the file holds nothing besides what decodes its picture, and the segments that a new
/// head takes the place of. Anything else would travel along: tables that no scan uses, lines that
/// nobody asked for, segments that decoders pass over.
bool holds_its_picture_alone(const jpeg::JpegFile& file) {
  std::size_t huffman_bytes = 0;
  std::size_t quant_bytes = 0;
  for (const jpeg::MarkerEntry& entry : file.markers) {
    if (entry.marker == jpeg::marker::kCom || jpeg::is_app(entry.marker)) continue;
    if (entry.marker == jpeg::marker::kDht) {
      huffman_bytes += entry.bytes - 4;
    } else if (entry.marker == jpeg::marker::kDqt) {
      quant_bytes += entry.bytes - 4;
    } else if (!has_its_size(entry, file)) {
      return false;
    }
  }
  // The parser lists no more than some thousand markers, and the tables that are used.
  if (file.markers.back().marker != jpeg::marker::kEoi) return false;
  for (const jpeg::HuffmanTable& table : file.huffman_tables) {
    huffman_bytes -= 17 + static_cast<std::size_t>(table.value_count);
  }
  for (const jpeg::QuantTable& table : file.quant_tables) {
    quant_bytes -= table.sixteen_bit ? 129 : 65;
  }
  return huffman_bytes == 0 && quant_bytes == 0;
}

/// Not for bytes that may change: those that are read later may be another file's.
bool is_still_the_file(const jpeg::FrameHeader& later, const jpeg::FrameHeader& first) {
  return later.width_px == first.width_px && later.height_px == first.height_px &&
         later.component_count == first.component_count && later.sof_marker == first.sof_marker;
}

}  // namespace

bool needs_no_change(const Request& request) {
  return asks_nothing_of_the_encoder(*request.options) &&
         shows_all_as_it_is(request.plan, request.file.frame) && !request.file.gain_map &&
         has_its_tables(request.file) && has_no_fault(request.report.warnings);
}

std::optional<std::vector<std::uint8_t>> smaller_original(const Request& request,
                                                          std::size_t encoded_bytes) {
  if (encoded_bytes == 0 || !needs_no_change(request)) return std::nullopt;
  const jpeg::JpegFile* file = &request.file;
  Result<jpeg::JpegFile> whole;
  std::vector<std::uint8_t> copy;
  if (request.depth != jpeg::ParseDepth::kWhole) {
    // For a device the file was read up to its first scan; what lies behind counts as well.
    std::span<const std::uint8_t> bytes = request.file.bytes;
    if (request.bytes_change) {
      copy.assign(bytes.begin(), bytes.end());
      bytes = copy;
    }
    whole = jpeg::parse(bytes, request.options->limits, jpeg::ParseDepth::kWhole,
                        request.context.deadline);
    if (!whole || !is_still_the_file(whole->frame, request.file.frame)) return std::nullopt;
    file = &*whole;
  }
  std::size_t coded_bytes = 0;
  for (const jpeg::Scan& scan : file->scans) coded_bytes += scan.entropy_bytes;
  if (coded_bytes >= encoded_bytes || !holds_its_picture_alone(*file)) return std::nullopt;
  auto stream = make_head(request);
  if (!stream || !jpeg::append_body(file->bytes, *stream)) return std::nullopt;
  if (stream->size() >= encoded_bytes) return std::nullopt;
  if (!codec::scans_are_whole(*file, request.context.deadline)) return std::nullopt;
  return std::move(*stream);
}

}  // namespace framewire::engine
