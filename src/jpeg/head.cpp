#include <fmt/format.h>
#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/embedded.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
#include <jpeg/warnings.hpp>
#include <jpeg/writer.hpp>
#include <jpeg/xmp.hpp>

namespace framewire::jpeg {
namespace {

constexpr std::size_t kMaxPayloadBytes = 65533;

void write_jfif(Bytes& out, const std::optional<Jfif>& source, bool transposed) {
  Jfif jfif = source.value_or(Jfif{});
  if (transposed) std::swap(jfif.x_density, jfif.y_density);
  Bytes payload;
  append_text(payload, std::string_view("JFIF\0", 5));
  append_u16(payload, 0x0101);
  payload.push_back(jfif.density_unit);
  append_u16(payload, jfif.x_density);
  append_u16(payload, jfif.y_density);
  append_u16(payload, 0);  // no thumbnail
  write_segment(out, marker::kApp0, payload);
}

/// CMYK as Adobe writes it (TN 5116): no transform, and samples inverted by convention.
void write_adobe_cmyk(Bytes& out) {
  Bytes payload;
  append_text(payload, "Adobe");
  append_u16(payload, 100);  // version
  append_u32(payload, 0);    // two words of flags
  payload.push_back(0);      // transform: none
  write_segment(out, marker::kApp14, payload);
}

void write_exif(Bytes& out, const JpegFile& file, Metadata metadata, const HeadFacts& facts) {
  Bytes block;
  if (metadata == Metadata::kKeep) {
    block = rewrite_exif(file.exif, {facts.width_px, facts.height_px, facts.orientation_applied,
                                     facts.is_srgb, facts.places});
  } else {
    ExifSummary summary;
    if (metadata == Metadata::kCopyright) {
      summary = read_exif(file.exif).value_or(ExifSummary{});
    }
    summary.orientation = facts.orientation_applied ? 1 : file.orientation;
    block = make_exif(summary);
  }
  if (block.empty()) return;
  Bytes payload;
  append_text(payload, kExifId);
  append_bytes(payload, block);
  write_segment(out, marker::kApp1, payload);
}

/// The packet to write; empty for none.
std::string xmp_packet(const JpegFile& file, Metadata metadata, const HeadFacts& facts) {
  const std::string_view source = as_text(file.xmp);
  const bool says_map = facts.gain_map_bytes != 0 && declares_gain_map(source);
  const std::size_t gain_map_bytes = says_map ? facts.gain_map_bytes : 0;
  std::string packet;
  if (metadata == Metadata::kKeep) {
    XmpChanges changes;
    changes.width_px = facts.width_px;
    changes.height_px = facts.height_px;
    changes.upright = facts.orientation_applied;
    changes.is_srgb = facts.is_srgb;
    changes.keeps_profile = !facts.icc.empty();
    changes.gain_map_bytes = gain_map_bytes;
    changes.places = facts.places;
    packet = rewrite_xmp(source, changes).value_or(std::string());
  } else if (metadata == Metadata::kCopyright) {
    packet = make_rights_xmp(source, gain_map_bytes);
  }
  const bool fits = packet.size() <= kMaxPayloadBytes - kXmpId.size();
  if (says_map && (packet.empty() || !fits)) return make_gain_map_xmp(gain_map_bytes);
  return fits ? packet : std::string();
}

void write_xmp(Bytes& out, std::string_view packet) {
  if (packet.empty()) return;
  Bytes payload;
  append_text(payload, kXmpId);
  append_text(payload, packet);
  write_segment(out, marker::kApp1, payload);
}

/// Copies the metadata of ISO 21496-1: some hundred bytes of numbers. A longer segment is something
/// else.
void copy_iso_gain_map(Bytes& out, const JpegFile& file) {
  constexpr std::size_t kMaxBytes = 1024;
  for (const auto& segment : file.segments) {
    if (segment.marker == marker::kApp2 && starts_with(segment.payload, kIsoGainMapId) &&
        segment.payload.size() <= kMaxBytes && !holds_picture(segment.payload)) {
      write_segment(out, marker::kApp2, segment.payload);
    }
  }
}

void copy_comments(Bytes& out, const JpegFile& file) {
  std::size_t bytes = 0;
  for (const auto& segment : file.segments) {
    if (segment.marker == marker::kCom) bytes += segment.payload.size();
  }
  out.reserve(out.size() + bytes);
  for (const auto& segment : file.segments) {
    if (segment.marker == marker::kCom && !holds_picture(segment.payload) &&
        !holds_base64_picture(as_text(segment.payload))) {
      write_segment(out, marker::kCom, segment.payload);
    }
  }
}

void write_iptc(Bytes& out, const JpegFile& file, Metadata metadata, bool keeps_profile) {
  if (metadata == Metadata::kStrip) return;
  ImageResources resources;
  for (const auto& segment : file.segments) {
    if (segment.marker == marker::kApp13) resources.add_segment(segment.payload);
  }
  write_image_resources(out, metadata == Metadata::kKeep ? resources.without_pictures(keeps_profile)
                                                         : resources.copyright());
}

Result<void> write_profile(Bytes& out, ByteSpan icc) {
  if (write_icc(out, icc)) return {};
  return fail(StatusCode::kInternal, "an ICC profile of more than 255 segments");
}

void write_empty_mpf(Bytes& out) {
  write_segment(out, marker::kApp2, make_mpf(out.size() + 4, 0, 0));
}

/// Offset of the payload of the head's MPF segment; 0 if there is none before the first table.
std::size_t find_mpf_payload(ByteSpan stream) {
  for (std::size_t at = 2; at + 8 <= stream.size() && stream[at] == 0xFF;) {
    const std::uint8_t code = stream[at + 1];
    if (!is_app(code) && code != marker::kCom) return 0;
    if (code == marker::kApp2 && starts_with(stream.subspan(at + 4), kMpfId)) return at + 4;
    at += 2 + read_u16(stream, at + 2);
  }
  return 0;
}

/// A file's own word as part of a message: short, and without bytes that no terminal or JSON takes.
std::string quoted(std::string_view word) {
  constexpr std::size_t kMaxBytes = 40;  // enough to recognise it
  std::string out(word.substr(0, kMaxBytes));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

Result<Bytes> make_head(const JpegFile& file, Metadata metadata, const HeadFacts& facts) {
  Bytes out;
  write_marker(out, marker::kSoi);
  if (!facts.cmyk) write_jfif(out, file.jfif, facts.transposed);
  write_exif(out, file, metadata, facts);
  write_xmp(out, xmp_packet(file, metadata, facts));
  if (auto ok = write_profile(out, facts.icc); !ok) return fail(ok.error());
  if (facts.gain_map_bytes != 0) {
    copy_iso_gain_map(out, file);
    write_empty_mpf(out);
  }
  write_iptc(out, file, metadata, !facts.icc.empty());
  if (facts.cmyk) write_adobe_cmyk(out);
  if (metadata == Metadata::kKeep) copy_comments(out, file);
  return out;
}

std::vector<Warning> list_losses(const JpegFile& file) {
  std::vector<Warning> losses;
  const std::string_view xmp = as_text(file.xmp);
  for (const auto& item : find_container_items(xmp)) {
    if (item.semantic == "Primary" || item.semantic == "GainMap") continue;
    if (losses.size() == kMaxWarnings) break;
    losses.push_back({WarningKind::kItemDropped,
                      fmt::format("{} ({}, {} bytes), appended to the picture, was left out",
                                  quoted(item.semantic), quoted(item.mime), item.bytes),
                      {}});
  }
  if (!xmp.empty() && !XmpTree::parse(xmp)) {
    losses.push_back({WarningKind::kXmpIgnored, "the XMP packet is no XML that is understood", {}});
  }
  return losses;
}

Result<Bytes> make_gain_map_head(const JpegFile& gain_map) {
  Bytes out;
  write_marker(out, marker::kSoi);
  write_jfif(out, gain_map.jfif, false);
  write_xmp(out, make_gain_map_parameters_xmp(as_text(gain_map.xmp)));
  copy_iso_gain_map(out, gain_map);
  if (auto ok = write_profile(out, gain_map.icc); !ok) return fail(ok.error());
  return out;
}

Result<GainMapTail> make_gain_map_tail(ByteSpan stream, ByteSpan gain_map) {
  const std::size_t payload_offset = find_mpf_payload(stream);
  if (payload_offset == 0) {
    return fail(StatusCode::kInternal, "a head without room for the index of its gain map");
  }
  if (stream.size() + gain_map.size() > UINT32_MAX) {
    return fail(StatusCode::kTooLarge, "image and gain map above 4 GiB, which no MPF index holds");
  }
  return GainMapTail{gain_map, make_mpf(payload_offset, stream.size(), gain_map.size()),
                     payload_offset};
}

}  // namespace framewire::jpeg
