#include <algorithm>
#include <jpeg/bytes.hpp>
#include <jpeg/exif.hpp>
#include <jpeg/gain_map.hpp>
#include <jpeg/gain_map_xmp.hpp>
#include <jpeg/head.hpp>
#include <jpeg/icc.hpp>
#include <jpeg/iptc.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/mpf.hpp>
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
    block = rewrite_exif(
        file.exif, {facts.width_px, facts.height_px, facts.orientation_applied, facts.is_srgb});
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
  const bool has_map = facts.gain_map_bytes != 0;
  const bool says_map = xmp_declares_gain_map(file.xmp);
  std::string packet;
  if (metadata == Metadata::kKeep) {
    packet = facts.orientation_applied ? with_upright_orientation(as_text(file.xmp))
                                       : std::string(as_text(file.xmp));
    if (!has_map) packet = without_gain_map(packet);
  }
  if (has_map && says_map) {
    packet = with_gain_map_directory(packet, facts.gain_map_bytes)
                 .value_or(make_gain_map_xmp(facts.gain_map_bytes));
    if (packet.size() > kMaxPayloadBytes - kXmpId.size()) {
      packet = make_gain_map_xmp(facts.gain_map_bytes);
    }
  }
  return packet.size() > kMaxPayloadBytes - kXmpId.size() ? std::string() : packet;
}

void write_xmp(Bytes& out, std::string_view packet) {
  if (packet.empty()) return;
  Bytes payload;
  append_text(payload, kXmpId);
  append_text(payload, packet);
  write_segment(out, marker::kApp1, payload);
}

void copy_segments(Bytes& out, const JpegFile& file, std::uint8_t code, std::string_view id) {
  for (const auto& segment : file.segments) {
    if (segment.marker == code && starts_with(segment.payload, id)) {
      write_segment(out, code, segment.payload);
    }
  }
}

void write_iptc(Bytes& out, const JpegFile& file, Metadata metadata) {
  if (metadata == Metadata::kStrip) return;
  for (const auto& segment : file.segments) {
    if (segment.marker != marker::kApp13) continue;
    const Bytes payload = metadata == Metadata::kKeep ? without_thumbnails(segment.payload)
                                                      : copyright_iptc(segment.payload);
    if (!payload.empty()) write_segment(out, marker::kApp13, payload);
  }
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

}  // namespace

Result<Bytes> make_head(const JpegFile& file, Metadata metadata, const HeadFacts& facts) {
  Bytes out;
  write_marker(out, marker::kSoi);
  const bool transposed = facts.orientation_applied && file.orientation > 4;
  if (!facts.cmyk) write_jfif(out, file.jfif, transposed);
  write_exif(out, file, metadata, facts);
  write_xmp(out, xmp_packet(file, metadata, facts));
  if (metadata == Metadata::kKeep) copy_segments(out, file, marker::kApp1, kExtendedXmpId);
  if (auto ok = write_profile(out, facts.icc); !ok) return fail(ok.error());
  if (facts.gain_map_bytes != 0) {
    copy_segments(out, file, marker::kApp2, kIsoGainMapId);
    write_empty_mpf(out);
  }
  write_iptc(out, file, metadata);
  if (facts.cmyk) write_adobe_cmyk(out);
  if (metadata == Metadata::kKeep) copy_segments(out, file, marker::kCom, {});
  return out;
}

Result<Bytes> make_gain_map_head(const JpegFile& gain_map) {
  Bytes out;
  write_marker(out, marker::kSoi);
  write_jfif(out, gain_map.jfif, false);
  if (xmp_declares_gain_map(gain_map.xmp)) write_xmp(out, as_text(gain_map.xmp));
  copy_segments(out, gain_map, marker::kApp2, kIsoGainMapId);
  if (auto ok = write_profile(out, gain_map.icc); !ok) return fail(ok.error());
  return out;
}

Result<void> append_gain_map(Bytes& stream, ByteSpan gain_map) {
  const std::size_t payload_offset = find_mpf_payload(stream);
  if (payload_offset == 0) {
    return fail(StatusCode::kInternal, "a head without room for the index of its gain map");
  }
  if (stream.size() + gain_map.size() > UINT32_MAX) {
    return fail(StatusCode::kTooLarge, "image and gain map above 4 GiB, which no MPF index holds");
  }
  const Bytes index = make_mpf(payload_offset, stream.size(), gain_map.size());
  std::copy(index.begin(), index.end(),
            stream.begin() + static_cast<std::ptrdiff_t>(payload_offset));
  append_bytes(stream, gain_map);
  return {};
}

}  // namespace framewire::jpeg
