// Writes the segments of a JPEG stream, one function each; all append.
//
// Source: ITU-T T.81 B.2. Arguments are trusted (they come from a plan), so nothing here fails.
#pragma once

#include <array>
#include <cstdint>
#include <jpeg/huffman.hpp>
#include <jpeg/types.hpp>
#include <span>
#include <vector>

namespace framewire::jpeg {

/// The tables of T.81 Annex K.1 scaled to a quality.
struct QualityTables {
  QuantTable luminance;
  QuantTable chrominance;
};

/// Scales as libjpeg's jpeg_set_quality(quality, force_baseline = TRUE): values 1 to 255.
/// @param quality  1 to 100; others are clamped
[[nodiscard]] QualityTables quality_tables(int quality) noexcept;

/// What SOFn carries.
struct FrameSpec {
  std::uint8_t marker = 0xC0;
  std::uint8_t precision_bits = 8;
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  int component_count = 0;
  std::array<std::uint8_t, kMaxComponents> id{1, 2, 3, 4};
  std::array<std::uint8_t, kMaxComponents> h{1, 1, 1, 1};
  std::array<std::uint8_t, kMaxComponents> v{1, 1, 1, 1};
  std::array<std::uint8_t, kMaxComponents> quant_index{};
};

/// What SOS carries.
struct ScanSpec {
  int component_count = 0;
  std::array<std::uint8_t, kMaxComponents> id{};
  std::array<std::uint8_t, kMaxComponents> dc_slot{};
  std::array<std::uint8_t, kMaxComponents> ac_slot{};
  std::uint8_t spectral_start = 0;
  std::uint8_t spectral_end = 63;
  std::uint8_t approx_high = 0;
  std::uint8_t approx_low = 0;
};

void write_marker(std::vector<std::uint8_t>& out, std::uint8_t code);
/// A marker with length and payload. @param payload  at most 65533 bytes
void write_segment(std::vector<std::uint8_t>& out, std::uint8_t code,
                   std::span<const std::uint8_t> payload);
/// 8 bits a value unless one exceeds 255 or the table says that it was read so.
void write_dqt(std::vector<std::uint8_t>& out, int slot, const QuantTable& table);
void write_sof(std::vector<std::uint8_t>& out, const FrameSpec& frame);
void write_dht(std::vector<std::uint8_t>& out, TableClass table_class, int slot,
               const HuffmanTable& table);
void write_dri(std::vector<std::uint8_t>& out, std::int32_t interval_mcus);
void write_sos(std::vector<std::uint8_t>& out, const ScanSpec& scan);
void write_eoi(std::vector<std::uint8_t>& out);

}  // namespace framewire::jpeg
