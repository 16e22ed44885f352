// Lookup tables that advance by several Huffman symbols at once.
//
// Idea: to find where symbols begin takes their lengths and runs, not their values. An entry is
// indexed by the next kTableBits bits. Its high half describes the first symbol alone; its low half
// all symbols together that those bits hold. At 4 bits a symbol that is two to three a lookup.
// Format of a half: bits 0–4 number of bits (codes and additional bits), 5–11 coefficients passed,
// 12 ends the block. An entry of 0 means a long code, or none.
//
// Where values are wanted, too, a step takes the place of an entry: up to three symbols. All but
// the last lie within kStepBits bits together with their additional bits, so that the step holds
// their values.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

inline constexpr std::uint32_t kEndsBlock = 1u << 12;
inline constexpr int kTableEntries = 1 << kTableBits;
inline constexpr int kStepEntries = 1 << kStepBits;
/// "Coefficients passed" of bits that are no code: more than a block has, which write_span()
/// reports.
inline constexpr std::uint32_t kInvalidPassed = 127;

FW_HD constexpr std::uint32_t half_bits(std::uint32_t half) { return half & 31; }
FW_HD constexpr std::uint32_t half_passed(std::uint32_t half) { return half >> 5 & 127; }

/// Symbols with values, indexed by kStepBits bits. Both words begin like the half of an entry. Bits
/// 13–16 are the size SSSS of the last symbol counted, whose value the caller reads from its bits.
/// Bits 17–21 are the place of another coefficient, counted from where the step begins, and bits
/// 22–31 its value; 0 means there is none.
struct alignas(8) Step {
  std::uint32_t all = 0;    ///< every symbol; and the second coefficient, where three are passed
  std::uint32_t first = 0;  ///< the first symbol alone; and its value, where others follow
};
FW_HD constexpr std::uint32_t step_size(std::uint32_t half) { return half >> 13 & 15; }
FW_HD constexpr std::uint32_t step_place(std::uint32_t half) { return half >> 17 & 31; }
FW_HD constexpr std::int32_t step_value(std::uint32_t half) {
  return static_cast<std::int32_t>(half) >> 22;
}
/// EXTEND of T.81 F.2.2.1.
/// @param tail  the additional bits, at the top of the word
/// @param size  how many, at least 1
FW_HD constexpr std::int32_t extend(std::uint32_t tail, std::uint32_t size) {
  const std::int32_t base =
      static_cast<std::int32_t>(tail) < 0 ? 0 : 1 - static_cast<std::int32_t>(1u << size);
  return base + static_cast<std::int32_t>(tail >> (32 - size));
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
  for (int length = 1; length <= 16; ++length) {
    if (window16 < code.limit[length]) {
      return {
          length,
          code.values[(static_cast<std::int32_t>(window16 >> (16 - length)) + code.offset[length]) &
                      0xFF]};
    }
  }
  return {};
}

/// Added to the values of a DC code behind which the block ends, as in progressive files.
inline constexpr std::uint32_t kDcAlone = 0x80;

/// An entry's half for one symbol, with the size SSSS apart.
struct FirstHalf {
  std::uint32_t half = 0;
  std::uint32_t size = 0;
};

FW_HD inline FirstHalf describe(const Symbol& symbol, bool dc) {
  const std::uint32_t size = symbol.value & 15;
  const std::uint32_t run = symbol.value >> 4;
  const bool dc_alone = dc && run == kDcAlone >> 4;
  if (symbol.code_bits == 0 || (dc && run != 0 && !dc_alone)) return {16 | kInvalidPassed << 5, 0};
  const std::uint32_t bits = static_cast<std::uint32_t>(symbol.code_bits) + size;
  if (dc_alone) return {bits | 1u << 5 | kEndsBlock, size};
  if (!dc && size == 0 && run != 15) return {bits | 1u << 5 | kEndsBlock, 0};
  return {bits | (run + 1) << 5, size};
}

FW_HD inline std::uint32_t make_entry(const FirstHalf& first, std::uint32_t all) {
  return first.half << 16 | all;
}

/// The entry for an index of kTableBits bits, at a block's start (dc) or inside a block.
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

/// One symbol that no lookup table holds, by walking the code's lengths.
FW_HD inline FirstHalf walk_code(const CanonicalCode& code, bool dc, std::uint32_t window) {
  return describe(find_symbol(code, window >> 16), dc);
}

/// The step of one symbol; the caller reads its value.
FW_HD inline Step single_step(const FirstHalf& symbol) {
  const std::uint32_t half = symbol.half | symbol.size << 13;
  return {half, half};
}

/// The step for an index of kStepBits bits, at a block's start (dc) or inside a block.
FW_HD inline Step build_step(const CanonicalCode& dc_code, const CanonicalCode& ac_code, bool dc,
                             std::uint32_t index) {
  const std::uint32_t window = index << (32 - kStepBits);
  const Symbol symbol = find_symbol(dc ? dc_code : ac_code, window >> 16);
  if (symbol.code_bits == 0 || symbol.code_bits > kStepBits) return {};
  FirstHalf last = describe(symbol, dc);
  Step step = single_step(last);
  std::uint32_t bits = half_bits(last.half);
  std::uint32_t passed = half_passed(last.half);
  if (passed == kInvalidPassed) return step;
  std::uint32_t known[2] = {0, 0};
  for (int count = 0; count < 2 && (last.half & kEndsBlock) == 0 && bits < kStepBits; ++count) {
    const Symbol next = find_symbol(ac_code, window << bits >> 16);
    if (next.code_bits == 0 || static_cast<int>(bits) + next.code_bits > kStepBits) break;
    // Another symbol follows, so the bits of `last` end inside the window and its value is known.
    const std::int32_t value = last.size == 0 ? 0 : extend(window << (bits - last.size), last.size);
    known[count] = static_cast<std::uint32_t>(value) << 22 | (passed - 1) << 17;
    last = describe(next, false);
    bits += half_bits(last.half);
    passed += half_passed(last.half);
  }
  step.all = bits | passed << 5 | (last.half & kEndsBlock) | last.size << 13 | known[1];
  step.first |= known[0];
  return step;
}

/// The first 16-bit window whose code is too long for a lookup table.
FW_HD inline std::uint32_t long_start(const CanonicalCode& code) {
  return code.limit[kTableBits < kStepBits ? kTableBits : kStepBits];
}

/// An element of the table of long codes: length << 8 | value; length 0 means no code.
FW_HD inline std::uint16_t build_long(const CanonicalCode& code, std::uint32_t index) {
  const std::uint32_t window = long_start(code) + index;
  if (window > 0xFFFF) return 0;
  const Symbol symbol = find_symbol(code, window);
  return static_cast<std::uint16_t>(symbol.code_bits << 8 | static_cast<int>(symbol.value));
}
FW_HD inline FirstHalf describe_long(std::uint16_t packed, bool dc) {
  return describe({packed >> 8, packed & 0xFFu}, dc);
}

/// Tables of one DC and one AC code: the codes in canonical form, long codes, entries and steps. Of
/// two arrays the first is for the start of a block (DC), the second for inside it (AC).
struct TablePair {
  CanonicalCode code[2];  ///< DC, AC
  alignas(16) std::uint16_t longs[2][kLongEntries];
  std::uint32_t entries[2][kTableEntries];
  alignas(16) Step steps[2][kStepEntries];
};

}  // namespace framewire::codec::cuda
