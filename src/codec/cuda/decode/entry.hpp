// Lookup tables that advance by several Huffman symbols at once.
//
// Idea: to find where symbols begin takes their lengths and runs, not their values. What symbols do
// to a decoder is one word, an advance, which is added to the decoder's cursor (span_decoder.hpp).
// An entry is indexed by the next kTableBits bits and holds the advance of all symbols together
// that those bits hold: at 4 bits a symbol that is two to three a lookup.
//
// Where values are wanted, too, a step takes the place of an entry: up to three symbols. All but
// the last lie within kStepBits bits together with their additional bits, so that the step holds
// their values.
#pragma once

#include <codec/cuda/tuning.h>
#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

// The fields of an advance: coefficients passed, whether a block ends, bits (codes and additional).
inline constexpr std::uint32_t kPassedMask = 0x7F;
inline constexpr std::uint32_t kEndsBlock = 1u << 8;
inline constexpr std::uint32_t kBitsShift = 13;
inline constexpr std::uint32_t kAdvanceMask = 31u << kBitsShift | kEndsBlock | kPassedMask;
/// In the place of an advance: the code is longer than the table's index, or none.
inline constexpr std::uint32_t kLongCode = 1u << 7;

inline constexpr int kTableEntries = 1 << kTableBits;
inline constexpr int kStepEntries = 1 << kStepBits;
/// "Coefficients passed" of bits that are no code: more than a block has, which write_span()
/// reports.
inline constexpr std::uint32_t kInvalidPassed = 127;

FW_HD constexpr std::uint32_t make_advance(std::uint32_t bits, std::uint32_t passed) {
  return bits << kBitsShift | passed;
}
FW_HD constexpr std::uint32_t advance_bits(std::uint32_t advance) {
  return advance >> kBitsShift & 31;
}
FW_HD constexpr std::uint32_t advance_passed(std::uint32_t advance) {
  return advance & kPassedMask;
}

/// The advance of an entry's first symbol alone. Bits 18-21 hold its bits and 22-26 what it passes,
/// where others follow; 0 means that none does.
FW_HD constexpr std::uint32_t first_advance(std::uint32_t entry) {
  const std::uint32_t bits = entry >> 18 & 15;
  return bits == 0 ? entry & kAdvanceMask : make_advance(bits, entry >> 22 & 31);
}

/// Symbols with values, indexed by kStepBits bits. Both words begin with an advance. Bits 9–12 are
/// the size SSSS of the last symbol counted, whose value the caller reads from its bits. Bits 18–22
/// are the place of another coefficient, counted from where the step begins, and bits 24–31 its
/// value; where there is none, the place is kNoPlace and the value 0.
struct alignas(8) Step {
  std::uint32_t all = kLongCode;  ///< every symbol; of three, the second's coefficient
  std::uint32_t first = 0;        ///< the first symbol alone; and its value, where others follow
};
inline constexpr std::uint32_t kNoPlace = 31;
static_assert(kStepBits <= 9, "a value has 8 bits, and its code at least 2");
FW_HD constexpr std::uint32_t step_size(std::uint32_t half) { return half >> 9 & 15; }
FW_HD constexpr std::uint32_t step_place(std::uint32_t half) { return half >> 18 & 31; }
FW_HD constexpr std::int32_t step_value(std::uint32_t half) {
  return static_cast<std::int32_t>(half) >> 24;
}
/// EXTEND of T.81 F.2.2.1.
/// @param tail  the additional bits, at the top of the word
/// @param size  how many; 0 makes 0
FW_HD inline std::int32_t extend(std::uint32_t tail, std::uint32_t size) {
  // A value whose first bit is 0 is the complement of its magnitude.
  const std::int32_t flip = ~static_cast<std::int32_t>(tail) >> 31;
  const std::uint32_t bits = tail ^ static_cast<std::uint32_t>(flip);
#if defined(__CUDA_ARCH__)
  const std::uint32_t magnitude = __funnelshift_rc(bits, 0, 32 - size);
#else
  const std::uint32_t magnitude = size == 0 ? 0 : bits >> (32 - size);
#endif
  return (static_cast<std::int32_t>(magnitude) ^ flip) - flip;
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

/// A symbol's advance, with its size SSSS at bits 9–12 as in a step.
FW_HD inline std::uint32_t describe(const Symbol& symbol, bool dc) {
  const std::uint32_t size = symbol.value & 15;
  const std::uint32_t run = symbol.value >> 4;
  const bool dc_alone = dc && run == kDcAlone >> 4;
  if (symbol.code_bits == 0 || (dc && run != 0 && !dc_alone)) {
    return make_advance(16, kInvalidPassed);
  }
  const std::uint32_t bits = static_cast<std::uint32_t>(symbol.code_bits) + size;
  if (dc_alone) return make_advance(bits, 1) | kEndsBlock | size << 9;
  if (!dc && size == 0 && run != 15) return make_advance(bits, 1) | kEndsBlock;
  return make_advance(bits, run + 1) | size << 9;
}

/// The entry for an index of kTableBits bits, at a block's start (dc) or inside a block.
FW_HD inline std::uint32_t build_entry(const CanonicalCode& dc_code, const CanonicalCode& ac_code,
                                       bool dc, std::uint32_t index) {
  const std::uint32_t window = index << (32 - kTableBits);
  const Symbol symbol = find_symbol(dc ? dc_code : ac_code, window >> 16);
  if (symbol.code_bits == 0 || symbol.code_bits > kTableBits) return kLongCode;
  const std::uint32_t first = describe(symbol, dc) & kAdvanceMask;
  std::uint32_t all = first;
  if (advance_passed(first) == kInvalidPassed) return first;
  while ((all & kEndsBlock) == 0 && advance_bits(all) < kTableBits) {
    const std::uint32_t bits = advance_bits(all);
    const Symbol next = find_symbol(ac_code, window << bits >> 16);
    if (next.code_bits == 0 || static_cast<int>(bits) + next.code_bits > kTableBits) break;
    const std::uint32_t more = describe(next, false) & kAdvanceMask;
    if (bits + advance_bits(more) > 31 || advance_passed(all) + advance_passed(more) > 64) break;
    all += more;
  }
  return all == first ? all : all | advance_bits(first) << 18 | advance_passed(first) << 22;
}

/// One symbol that no lookup table holds, by walking the code's lengths.
FW_HD inline std::uint32_t walk_code(const CanonicalCode& code, bool dc, std::uint32_t window) {
  return describe(find_symbol(code, window >> 16), dc);
}

/// The step of one symbol; the caller reads its value.
FW_HD inline Step single_step(std::uint32_t symbol) {
  return {symbol | kNoPlace << 18, symbol | kNoPlace << 18};
}

/// The step for an index of kStepBits bits, at a block's start (dc) or inside a block.
FW_HD inline Step build_step(const CanonicalCode& dc_code, const CanonicalCode& ac_code, bool dc,
                             std::uint32_t index) {
  const std::uint32_t window = index << (32 - kStepBits);
  const Symbol symbol = find_symbol(dc ? dc_code : ac_code, window >> 16);
  if (symbol.code_bits == 0 || symbol.code_bits > kStepBits) return {};
  std::uint32_t last = describe(symbol, dc);
  Step step = single_step(last);
  std::uint32_t all = last & kAdvanceMask;
  if (advance_passed(all) == kInvalidPassed) return step;
  std::uint32_t known[2] = {kNoPlace << 18, kNoPlace << 18};
  for (int count = 0; count < 2 && (all & kEndsBlock) == 0; ++count) {
    const std::uint32_t bits = advance_bits(all);
    const std::uint32_t place = advance_passed(all) - 1;
    if (bits >= kStepBits || place >= kNoPlace) break;
    const Symbol next = find_symbol(ac_code, window << bits >> 16);
    if (next.code_bits == 0 || static_cast<int>(bits) + next.code_bits > kStepBits) break;
    // Another symbol follows, so the bits of `last` end inside the window and its value is known.
    const std::uint32_t size = step_size(last);
    const std::int32_t value = size == 0 ? 0 : extend(window << (bits - size), size);
    known[count] = static_cast<std::uint32_t>(value) << 24 | place << 18;
    last = describe(next, false);
    all += last & kAdvanceMask;
  }
  step.all = all | step_size(last) << 9 | known[1];
  step.first = (step.first & ~(31u << 18)) | known[0];
  return step;
}

/// The first 16-bit window whose code is too long for a lookup table.
FW_HD inline std::uint32_t long_start(const CanonicalCode& code) {
  return code.limit[kTableBits < kStepBits ? kTableBits : kStepBits];
}

/// An element of the table of long codes: a symbol's advance and size in 16 bits. Bits 0–4 are the
/// coefficients passed, 31 for bits that are no code; the fields from kEndsBlock on lie 3 bits
/// lower than in a step.
FW_HD inline std::uint16_t build_long(const CanonicalCode& code, bool dc, std::uint32_t index) {
  const std::uint32_t window = long_start(code) + index;
  const std::uint32_t symbol = describe(window > 0xFFFF ? Symbol{} : find_symbol(code, window), dc);
  return static_cast<std::uint16_t>((symbol >> 8) << 5 | (symbol & 31));
}
FW_HD inline std::uint32_t expand_long(std::uint16_t packed) {
  const std::uint32_t passed = packed & 31u;
  const std::uint32_t above = static_cast<std::uint32_t>(packed) >> 5 << 8;
  return above | (passed == 31 ? kInvalidPassed : passed);
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
