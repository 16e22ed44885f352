// What a JPEG file says about itself, as plain structs: no pixels, no decoding.
//
// Source: ITU-T T.81 Annex B. All tables are in natural (row-major) order, all offsets count from
// the first byte given to parse().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/image.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::jpeg {

inline constexpr int kMaxComponents = 4;
inline constexpr int kBlockSide = 8;
inline constexpr int kBlockSize = 64;

/// Coding process of a frame (T.81 table B.1). Arithmetic coding is FrameHeader::arithmetic.
enum class Process : std::uint8_t { kBaseline, kExtended, kProgressive, kLossless };

/// One component as the frame header declares it, with its derived geometry.
struct Component {
  std::uint8_t id = 0;
  std::uint8_t h = 1;            ///< horizontal sampling factor, 1 to 4
  std::uint8_t v = 1;            ///< vertical sampling factor, 1 to 4
  std::uint8_t quant_index = 0;  ///< the table slot Tq, 0 to 3
  std::int32_t width_px = 0;     ///< ⌈frame width × h / h_max⌉ (T.81 A.1.1)
  std::int32_t height_px = 0;
  std::int32_t width_blocks = 0;  ///< ⌈width_px / 8⌉: what a non-interleaved scan carries
  std::int32_t height_blocks = 0;
  std::int32_t padded_width_blocks = 0;  ///< mcu_columns × h: what an interleaved scan carries
  std::int32_t padded_height_blocks = 0;
};

struct FrameHeader {
  std::size_t offset = 0;       ///< of the SOF marker's 0xFF
  std::uint8_t sof_marker = 0;  ///< 0xC0 to 0xCF, second byte of the marker
  Process process = Process::kBaseline;
  bool arithmetic = false;
  bool hierarchical = false;  ///< SOF5–7, 13–15, or a DHP marker came before
  std::uint8_t precision_bits = 8;
  bool height_from_dnl = false;  ///< SOF says 0 lines; height_px is from DNL after the first scan
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  int component_count = 0;
  std::array<Component, kMaxComponents> components{};
  std::uint8_t h_max = 1;
  std::uint8_t v_max = 1;
  std::int32_t mcu_columns = 0;  ///< MCUs of an interleaved scan
  std::int32_t mcu_rows = 0;
};

struct QuantTable {
  std::array<std::uint16_t, kBlockSize> values{};  ///< natural order; 0 only in broken files
  bool sixteen_bit = false;                        ///< Pq = 1 in the file
};

/// A Huffman table as DHT carries it (T.81 B.2.4.2); those of JpegFile pass is_valid().
struct HuffmanTable {
  std::array<std::uint8_t, 16> counts{};  ///< number of codes of length 1 to 16
  std::array<std::uint8_t, 256> values{};
  int value_count = 0;
};

/// Arithmetic conditioning (T.81 B.2.4.3): L and U of each DC slot, Kx of each AC slot.
struct ArithmeticConditioning {
  std::array<std::uint8_t, 4> dc_lower{0, 0, 0, 0};
  std::array<std::uint8_t, 4> dc_upper{1, 1, 1, 1};
  std::array<std::uint8_t, 4> ac_kx{5, 5, 5, 5};
};

/// One scan: its header, a snapshot of the tables in force, and where its entropy bytes lie.
///
/// Parameters are as written, save what libjpeg refuses: Ss, Se, Ah and Al of sequential scans mean
/// nothing, and a progressive script may be out of order (with a warning).
struct Scan {
  std::size_t offset = 0;  ///< of the SOS marker's 0xFF
  int component_count = 0;
  std::array<std::uint8_t, kMaxComponents> component{};  ///< indices into FrameHeader::components
  /// Indices into JpegFile::huffman_tables for each component of the scan; −1: not defined in this
  /// file (then the standard tables of T.81 Annex K.3 apply, as in motion JPEG).
  std::array<int, kMaxComponents> dc_table{-1, -1, -1, -1};
  std::array<int, kMaxComponents> ac_table{-1, -1, -1, -1};
  std::array<std::uint8_t, kMaxComponents> dc_slot{};  ///< Td, 0 to 3 where the scan uses it
  std::array<std::uint8_t, kMaxComponents> ac_slot{};
  ArithmeticConditioning conditioning;
  std::uint8_t spectral_start = 0;  ///< Ss
  std::uint8_t spectral_end = 63;   ///< Se
  std::uint8_t approx_high = 0;     ///< Ah
  std::uint8_t approx_low = 0;      ///< Al
  std::int32_t restart_interval_mcus = 0;
  std::size_t entropy_offset = 0;  ///< first entropy-coded byte
  std::size_t entropy_bytes = 0;   ///< up to the next marker that is not RSTn, or the end of input
};

/// An APPn or COM segment, payload only.
struct Segment {
  std::uint8_t marker = 0;  ///< 0xE0 to 0xEF, 0xFE
  std::size_t offset = 0;   ///< of the marker's 0xFF
  std::span<const std::uint8_t> payload;
};

/// Every marker in file order, for inspection.
struct MarkerEntry {
  std::uint8_t marker = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;  ///< marker, length and payload; for SOS also the entropy bytes
};

struct Jfif {
  std::uint8_t version_major = 1;
  std::uint8_t version_minor = 1;
  std::uint8_t density_unit = 0;
  std::uint16_t x_density = 1;
  std::uint16_t y_density = 1;
};

/// One image of a CIPA DC-007 multi-picture file; offsets already resolved against the input.
struct MpfImage {
  std::uint32_t attributes = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// What the components mean (JFIF, Adobe APP14 transform and component ids, as libjpeg decides).
enum class ColorModel : std::uint8_t { kGray, kYcbcr, kRgb, kCmyk, kYcck, kUnknown };

/// A parsed file. Spans point into the bytes given to parse(), which must outlive this.
struct JpegFile {
  std::span<const std::uint8_t> bytes;
  FrameHeader frame;
  std::vector<HuffmanTable> huffman_tables;  ///< every definition that a scan uses, by index
  std::vector<QuantTable> quant_tables;      ///< every definition latched by a component
  /// Index into quant_tables for each component, latched at its first scan; −1: never defined.
  std::array<int, kMaxComponents> component_quant{-1, -1, -1, -1};
  std::vector<Scan> scans;
  std::vector<Segment> segments;
  std::vector<MarkerEntry> markers;
  std::optional<Jfif> jfif;
  std::optional<std::uint8_t> adobe_transform;
  ColorModel color_model = ColorModel::kUnknown;
  int orientation = 1;                 ///< EXIF, 1 to 8; nonsense values read as 1
  bool exif_adobe_rgb = false;         ///< EXIF says that the numbers are Adobe RGB (1998)
  std::span<const std::uint8_t> exif;  ///< TIFF block after "Exif\0\0"; may be empty
  std::span<const std::uint8_t> xmp;   ///< XMP packet; may be empty
  std::vector<std::uint8_t> icc;       ///< assembled profile; empty: none or broken
  std::vector<MpfImage> mpf;  ///< empty: no MPF, or one that makes no sense; an Ultra HDR container
                              ///< without MPF is listed like one
  std::optional<std::size_t> gain_map;  ///< index into mpf of the Ultra HDR gain map
  /// One past EOI. Without EOI bytes.size(), or where a segment that the end of input cuts off, or
  /// a fault after the first scan (with a warning), begins. Decoders get bytes.first(end_offset).
  std::size_t end_offset = 0;
  bool truncated = false;  ///< the input ended before EOI
  std::vector<Warning> warnings;
};

}  // namespace framewire::jpeg
