// Lookup tables that advance by several Huffman symbols at once.
//
// Idea: finding where symbols begin needs their lengths and runs, not their values. An entry holds,
// for the next kTableBits bits, the first symbol alone (high half) and all symbols that begin and
// are recognised within those bits (low half). At 4 bits a symbol that is two to three a step.
// Format of a half: bits 0–4 code and additional bits, 5–11 coefficients passed, 12 ends the block.
// Bits 29–31 and 15 hold the first symbol's size SSSS. 0 is no entry: a long code or none.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

inline constexpr std::uint32_t kEndsBlock = 1u << 12;
inline constexpr int kTableEntries = 1 << kTableBits;
/// Passed by bits that are no code: more than a block, which the writing pass takes for an error.
inline constexpr std::uint32_t kInvalidPassed = 127;

FW_HD constexpr std::uint32_t half_bits(std::uint32_t half) { return half & 31; }
FW_HD constexpr std::uint32_t half_passed(std::uint32_t half) { return half >> 5 & 127; }
FW_HD constexpr std::uint32_t first_size(std::uint32_t entry) {
  return entry >> 29 | (entry >> 12 & 8);
}

/// A Huffman code in canonical form: what the slow path walks and what builds the entries.
struct CanonicalCode {
  std::uint32_t limit[17];  ///< first 16-bit window beyond the codes of each length; 1 to 16
  std::int32_t offset[17];  ///< values index of code c: c + offset[length]
  std::uint8_t values[256];
};

/// One symbol: its code length (0: none), run and size.
struct Symbol {
  int code_bits = 0;
  std::uint32_t value = 0;
};

FW_HD inline Symbol find_symbol(const CanonicalCode& code, std::uint32_t window16) {
  for (int length = 1; length <= 16; ++length)
    if (window16 < code.limit[length])
      return {
          length,
          code.values[(static_cast<std::int32_t>(window16 >> (16 - length)) + code.offset[length]) &
                      0xFF]};
  return {};
}

/// The half of one symbol, with its size in the entry's spare bits.
struct FirstHalf {
  std::uint32_t half = 0;
  std::uint32_t size = 0;
};

FW_HD inline FirstHalf describe(const Symbol& symbol, bool dc) {
  const std::uint32_t size = symbol.value & 15;
  const std::uint32_t run = symbol.value >> 4;
  if (symbol.code_bits == 0 || (dc && run != 0)) return {16 | kInvalidPassed << 5, 0};
  const std::uint32_t bits = static_cast<std::uint32_t>(symbol.code_bits) + size;
  if (!dc && size == 0 && run != 15) return {bits | 1u << 5 | kEndsBlock, 0};
  return {bits | (run + 1) << 5, size};
}

FW_HD inline std::uint32_t make_entry(const FirstHalf& first, std::uint32_t all) {
  return first.half << 16 | all | (first.size & 7) << 29 | (first.size & 8) << 12;
}

/// The entry for kTableBits bits that follow at a block's start (dc) or inside it.
FW_HD inline std::uint32_t build_entry(const CanonicalCode& dc_code, const CanonicalCode& ac_code,
                                       bool dc, std::uint32_t index) {
  const std::uint32_t window = index << (32 - kTableBits);
  const Symbol symbol = find_symbol(dc ? dc_code : ac_code, window >> 16);
  if (symbol.code_bits == 0 || symbol.code_bits > kTableBits) return 0;
  const FirstHalf first = describe(symbol, dc);
  std::uint32_t bits = half_bits(first.half);
  std::uint32_t passed = half_passed(first.half);
  bool ends = (first.half & kEndsBlock) != 0;
  if (passed == kInvalidPassed) return make_entry(first, first.half);
  while (!ends && bits < kTableBits) {
    const Symbol next = find_symbol(ac_code, window << bits >> 16);
    if (next.code_bits == 0 || static_cast<int>(bits) + next.code_bits > kTableBits) break;
    const FirstHalf more = describe(next, false);
    if (bits + half_bits(more.half) > 31 || passed + half_passed(more.half) > 64) break;
    bits += half_bits(more.half);
    passed += half_passed(more.half);
    ends = (more.half & kEndsBlock) != 0;
  }
  return make_entry(first, bits | passed << 5 | (ends ? kEndsBlock : 0));
}

/// The entry that a lookup did not hold.
FW_HD inline std::uint32_t long_entry(const CanonicalCode& code, bool dc, std::uint32_t window) {
  const FirstHalf first = describe(find_symbol(code, window >> 16), dc);
  return make_entry(first, first.half);
}

/// The first 16-bit window that no code of up to kTableBits covers.
FW_HD inline std::uint32_t long_start(const CanonicalCode& code) { return code.limit[kTableBits]; }

/// What the table of long codes holds: length << 8 | value; length 0: no code.
FW_HD inline std::uint16_t build_long(const CanonicalCode& code, std::uint32_t index) {
  const std::uint32_t window = long_start(code) + index;
  if (window > 0xFFFF) return 0;
  const Symbol symbol = find_symbol(code, window);
  return static_cast<std::uint16_t>(symbol.code_bits << 8 | static_cast<int>(symbol.value));
}
FW_HD inline std::uint32_t entry_of_long(std::uint16_t packed, bool dc) {
  const FirstHalf first = describe({packed >> 8, packed & 0xFFu}, dc);
  return make_entry(first, first.half);
}

/// The tables of one component: codes in canonical form, and entries for both positions.
struct TablePair {
  CanonicalCode code[2];  ///< DC, AC
  alignas(16) std::uint16_t longs[2][kLongEntries];
  std::uint32_t entries[2][kTableEntries];
};

}  // namespace framewire::codec::cuda
