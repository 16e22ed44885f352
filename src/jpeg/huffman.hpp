// Huffman codes: decoding tables and the decoding step, encoding tables, standard and optimal
// codes.
//
// Source: ITU-T T.81 Annex C (codes from counts), F.2.2.3 (decoding), K.2 (codes from a histogram),
// K.3 (the standard tables).
#pragma once

#include <base/host_device.hpp>
#include <cstdint>
#include <jpeg/types.hpp>
#include <span>

namespace framewire::jpeg {

inline constexpr int kLookaheadBits = 8;  ///< longest code found by one look-up
inline constexpr int kMaxCodeBits = 16;   ///< T.81 C.2
/// What decode_symbol() returns for bits that are no code; libjpeg goes on as if it were symbol 0.
inline constexpr int kBadCode = -1;

/// Plain struct for host and device: codes of up to 8 bits by lookup, longer ones by length.
struct HuffmanDecodeTable {
  std::uint16_t lookup[1 << kLookaheadBits];  ///< length << 8 | symbol; 0: longer than 8 bits
  std::int32_t max_code[kMaxCodeBits + 1];    ///< largest code of each length; −1: none
  std::int32_t
      value_offset[kMaxCodeBits + 1];  ///< values index of code c: c + value_offset[length]
  std::uint8_t values[256];
};

/// Code and length of each symbol; length 0: the table has no code for it.
struct HuffmanEncodeTable {
  std::uint16_t code[256];
  std::uint8_t length[256];
};

/// Whether counts describe a prefix code that leaves the all-ones code unused, as T.81 C.2 and
/// libjpeg demand, with values to match. An empty table is valid.
[[nodiscard]] bool is_valid(const HuffmanTable& table) noexcept;

/// @param table  is_valid()
[[nodiscard]] HuffmanDecodeTable make_decode_table(const HuffmanTable& table) noexcept;
/// @param table  is_valid(); of symbols given twice the first code counts
[[nodiscard]] HuffmanEncodeTable make_encode_table(const HuffmanTable& table) noexcept;

enum class TableClass : std::uint8_t { kDc = 0, kAc = 1 };

/// The typical tables of Annex K.3, which motion JPEG frames leave out. Static storage.
/// @param slot  0 luminance, any other: chrominance
[[nodiscard]] const HuffmanTable& standard_huffman_table(TableClass table_class, int slot) noexcept;

/// The shortest code of at most 16 bits for a histogram of symbols (T.81 K.2).
/// @param histogram  occurrences of each symbol; those with 0 get no code; sum below 2^62
/// @cost O(n²) in the number of symbols used, no allocation
[[nodiscard]] HuffmanTable optimal_huffman_table(std::span<const std::uint64_t, 256> histogram);

/// Reads one symbol.
/// @param reader  a BitReader: peek(count), drop(count)
/// @return 0 to 255, or kBadCode, with 17 bits consumed as libjpeg does
template <typename Reader>
FW_HD inline int decode_symbol(Reader& reader, const HuffmanDecodeTable& table) {
  const std::uint32_t entry = table.lookup[reader.peek(kLookaheadBits)];
  if (entry != 0) {
    reader.drop(static_cast<int>(entry >> 8));
    return static_cast<int>(entry & 0xFF);
  }
  const std::uint32_t window = reader.peek(kMaxCodeBits);
  for (int length = kLookaheadBits + 1; length <= kMaxCodeBits; ++length) {
    const auto code = static_cast<std::int32_t>(window >> (kMaxCodeBits - length));
    if (code <= table.max_code[length]) {
      reader.drop(length);
      return table.values[(code + table.value_offset[length]) & 0xFF];
    }
  }
  reader.drop(kMaxCodeBits + 1);
  return kBadCode;
}

/// The signed value of `size` additional bits (EXTEND, T.81 figure F.12).
FW_HD constexpr std::int32_t extend(std::uint32_t bits, int size) {
  if (size == 0) return 0;
  const auto value = static_cast<std::int32_t>(bits);
  return value < (1 << (size - 1)) ? value - (1 << size) + 1 : value;
}

/// Number of additional bits of a value: its category SSSS (T.81 table F.1).
FW_HD constexpr int category(std::int32_t value) {
  std::uint32_t magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
  int bits = 0;
  while (magnitude != 0) {
    magnitude >>= 1;
    ++bits;
  }
  return bits;
}

/// The additional bits that extend() turns back into `value`.
FW_HD constexpr std::uint32_t additional_bits(std::int32_t value, int size) {
  const auto bits = static_cast<std::uint32_t>(value < 0 ? value - 1 : value);
  return bits & ((1u << size) - 1u);
}

}  // namespace framewire::jpeg
