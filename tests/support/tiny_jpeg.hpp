// Small JPEG files made with the library's own writers, for tests to parse and to damage.
#pragma once

#include <array>
#include <cstdint>
#include <jpeg/bit_writer.hpp>
#include <jpeg/bytes.hpp>
#include <jpeg/huffman.hpp>
#include <jpeg/markers.hpp>
#include <jpeg/writer.hpp>
#include <string_view>
#include <vector>

namespace framewire::jpeg::tiny {

inline void write_standard_tables(Bytes& out) {
  const auto tables = quality_tables(75);
  write_dqt(out, 0, tables.luminance);
  write_dqt(out, 1, tables.chrominance);
  for (const int slot : {0, 1}) {
    write_dht(out, TableClass::kDc, slot, standard_huffman_table(TableClass::kDc, slot));
    write_dht(out, TableClass::kAc, slot, standard_huffman_table(TableClass::kAc, slot));
  }
}

/// Three components, the first sampled h×v, the others 1×1.
inline FrameSpec color_frame(std::int32_t width, std::int32_t height, std::uint8_t h = 2,
                             std::uint8_t v = 2, std::uint8_t sof = marker::kSof0) {
  FrameSpec frame;
  frame.marker = sof;
  frame.width_px = width;
  frame.height_px = height;
  frame.component_count = 3;
  frame.h[0] = h;
  frame.v[0] = v;
  frame.quant_index = {0, 1, 1, 0};
  return frame;
}

inline ScanSpec color_scan() {
  ScanSpec scan;
  scan.component_count = 3;
  scan.id = {1, 2, 3, 0};
  scan.dc_slot = scan.ac_slot = {0, 1, 1, 0};
  return scan;
}

/// One block whose DC differs from the last by `difference`, with no AC.
inline void put_flat_block(BitWriter& bits, int slot, int difference) {
  const auto dc = make_encode_table(standard_huffman_table(TableClass::kDc, slot));
  const auto ac = make_encode_table(standard_huffman_table(TableClass::kAc, slot));
  const int size = category(difference);
  bits.put_symbol(dc, static_cast<std::uint8_t>(size));
  bits.put(additional_bits(difference, size), size);
  bits.put_symbol(ac, 0);
}

/// Entropy bytes of `mcus` flat MCUs of the frame that color_frame() makes.
inline void write_flat_mcus(Bytes& out, int mcus, int luma_blocks = 4) {
  BitWriter bits(out);
  for (int mcu = 0; mcu < mcus; ++mcu) {
    for (int i = 0; i < luma_blocks; ++i) put_flat_block(bits, 0, i == 0 ? 20 : -5);
    put_flat_block(bits, 1, -3);
    put_flat_block(bits, 1, 7);
  }
  bits.flush();
}

/// SOI and the segments given, without tables.
inline Bytes head(const std::vector<std::pair<std::uint8_t, Bytes>>& segments = {}) {
  Bytes out;
  write_marker(out, marker::kSoi);
  for (const auto& [code, payload] : segments) write_segment(out, code, payload);
  return out;
}

inline Bytes jfif_payload() { return {'J', 'F', 'I', 'F', 0, 1, 2, 1, 0, 72, 0, 96, 0, 0}; }
inline Bytes adobe_payload(std::uint8_t transform) {
  return {'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform};
}

/// A whole 4:2:0 baseline file of 32×16 pixels: two MCUs.
inline Bytes baseline(const std::vector<std::pair<std::uint8_t, Bytes>>& segments = {
                          {marker::kApp0, jfif_payload()}}) {
  Bytes out = head(segments);
  write_standard_tables(out);
  write_sof(out, color_frame(32, 16));
  write_sos(out, color_scan());
  write_flat_mcus(out, 2);
  write_eoi(out);
  return out;
}

/// A progressive file of 32×16 pixels: an interleaved DC scan, one AC scan of luma, a refinement.
inline Bytes progressive() {
  Bytes out = head({{marker::kApp0, jfif_payload()}});
  write_standard_tables(out);
  write_sof(out, color_frame(32, 16, 2, 2, marker::kSof2));
  ScanSpec dc = color_scan();
  dc.spectral_end = 0;
  dc.approx_low = 1;
  write_sos(out, dc);
  {
    BitWriter bits(out);
    for (int block = 0; block < 12; ++block) {
      const auto table = make_encode_table(standard_huffman_table(TableClass::kDc, block % 6 / 4));
      bits.put_symbol(table, 0);
    }
    bits.flush();
  }
  ScanSpec ac;
  ac.component_count = 1;
  ac.id[0] = 1;
  ac.spectral_start = 1;
  write_sos(out, ac);
  {
    BitWriter bits(out);
    const auto table = make_encode_table(standard_huffman_table(TableClass::kAc, 0));
    for (int block = 0; block < 8; ++block) bits.put_symbol(table, 0);
    bits.flush();
  }
  dc.approx_high = 1;
  dc.approx_low = 0;
  write_sos(out, dc);
  out.push_back(0x0F);
  out.push_back(0xAA);
  write_eoi(out);
  return out;
}

/// Offset of the n-th marker of a code, counted from 0; the size if there is none.
inline std::size_t find_marker(ByteSpan bytes, std::uint8_t code, int n = 0) {
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xFF && bytes[i + 1] == code && n-- == 0) return i;
  }
  return bytes.size();
}

/// A baseline file with one byte replaced, `at` bytes after the n-th marker of a code.
inline Bytes with_byte(std::uint8_t code, std::size_t at, std::uint8_t value, int n = 0) {
  Bytes bytes = baseline();
  bytes[find_marker(bytes, code, n) + at] = value;
  return bytes;
}

inline std::size_t at_marker(std::uint8_t code, int n = 0) {
  return find_marker(baseline(), code, n);
}

/// A baseline file with bytes inserted before the n-th marker of a code.
inline Bytes with_insert(std::uint8_t code, const Bytes& insert, int n = 0) {
  Bytes bytes = baseline();
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(find_marker(bytes, code, n)),
               insert.begin(), insert.end());
  return bytes;
}

}  // namespace framewire::jpeg::tiny
