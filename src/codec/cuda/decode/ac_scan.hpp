// Decodes what the AC scans of progressive files send for one block, once a chain (ac_chain.hpp)
// has found where that begins.
//
// Source: ITU-T T.81 G.1.2.2 (first scans) and G.1.2.3 (refinement). What cannot be done in
// parallel is to find where the data of each block begins: codes have no fixed lengths, and how
// many correction bits stand between them depends on which coefficients are not zero yet. So a
// chain finds just that. As in the CPU codec (codec/turbo/block_decoding.cpp) a block's history is
// a mask of 64 bits, so that nothing loops over coefficients.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/decode/block_levels.hpp>
#include <codec/cuda/decode/word_bits.hpp>
#include <codec/cuda/status_bits.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

FW_HD inline int count_bits(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __popcll(bits);
#else
  return __builtin_popcountll(bits);
#endif
}
/// @param bits  not 0
FW_HD inline int lowest_bit(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(bits)) - 1;
#else
  return __builtin_ctzll(bits);
#endif
}
/// Bits `first` to `last`, which are at most 63.
FW_HD inline std::uint64_t band_mask(std::uint32_t first, std::uint32_t last) {
  return ~std::uint64_t{0} >> (63 - last) & ~std::uint64_t{0} << first;
}

/// A code that has been looked at. A length of 0 means that the bits are no code.
struct AcCode {
  std::uint32_t symbol = 0;
  int length = 0;

  FW_HD std::uint32_t size() const { return symbol & 15; }
  FW_HD std::uint32_t zeros() const { return symbol >> 4; }
  /// Whether it is of class EOBn: it ends this block, and may end others.
  FW_HD bool ends_blocks() const { return size() == 0 && zeros() != 15; }
};

/// A code that is longer than a lookup table's index of `kIndexBits`; none where a shorter one
/// begins the bits, which a table may have refused.
template <int kIndexBits = kAcLookupBits>
FW_HD inline AcCode walk_ac_code(const CanonicalCode& code, std::uint32_t window16) {
  // Limits never fall from one length to the next. All are read at once, none waits for another.
  int length = kIndexBits + 1;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int shorter = kIndexBits + 1; shorter <= 16; ++shorter) {
    length += window16 >= code.limit[shorter] ? 1 : 0;
  }
  if ((window16 < code.limit[kIndexBits]) | (length > 16)) return {};
  const std::int32_t at =
      static_cast<std::int32_t>(window16 >> (16 - length)) + code.offset[length];
  return {code.values[at & 0xFF], length};
}

/// Looks at the next code, without dropping it. It and 15 bits behind it are available.
/// @param entries  AcLookup::entries, or a copy of them
FW_HD inline AcCode peek_code(WordBits& bits, const std::uint16_t* entries,
                              const CanonicalCode& code) {
  bits.refill();
  const auto window = static_cast<std::uint32_t>(bits.window() >> 32);
  const std::uint32_t entry = entries[window >> (32 - kAcLookupBits)];
  if (entry != 0) return {entry >> 8, static_cast<int>(entry & 0xFF)};
  return walk_ac_code(code, window >> 16);
}

/// Drops a code that ends blocks, and reads how many, the present one included.
FW_HD inline std::uint32_t take_run(WordBits& bits, const AcCode& code) {
  const std::uint32_t n = code.zeros();
  const auto more = static_cast<std::uint32_t>(bits.window() << code.length >> 49);  // 15 bits
  bits.drop(code.length + static_cast<int>(n));
  return (1u << n) + (more >> (15 - n));
}

/// A level as sign and magnitude. @param tail  additional bits at the top; @param size  how many
FW_HD inline std::uint32_t signed_level(std::uint32_t tail, std::uint32_t size,
                                        std::uint32_t low_bit) {
  const std::int32_t value = extend(tail, size);
  return value < 0 ? 0x8000u | static_cast<std::uint32_t>(-value) << low_bit
                   : static_cast<std::uint32_t>(value) << low_bit;
}

/// Decodes what a first scan sends for one block, once a chain has found where that begins.
/// @param order    natural positions of the coefficients in the order sent
/// @param found    gets bits of coefficients that are not zero
/// @return StatusBit
FW_HD inline std::uint32_t decode_first_block(const AcScanDesc& scan, std::uint32_t block,
                                              const BlockLevels& place, const std::uint8_t* order,
                                              std::int16_t* levels, std::uint64_t& found) {
  const std::uint32_t start = scan.starts[block];
  if (start == 0) return 0;
  WordBits bits(scan.words, scan.word_count, start & kBlockStart);
  for (std::uint32_t k = scan.first; k <= scan.last; ++k) {
    const AcCode code = peek_code(bits, scan.table->entries, scan.table->code);
    if (code.ends_blocks()) return 0;
    const std::uint32_t size = code.size();
    const auto tail = static_cast<std::uint32_t>(bits.window() << code.length >> 32);
    bits.drop(code.length + static_cast<int>(size));
    k += code.zeros();
    if (k > scan.last || size > 15 - scan.low_bit) return kBadCode;
    if (size == 0) continue;
    found |= std::uint64_t{1} << k;
    if ((place.kept() >> k & 1) == 0) continue;
    levels[place.index(order[k])] =
        static_cast<std::int16_t>(signed_level(tail, size, scan.low_bit));
  }
  return 0;
}

/// Sets the low bits of levels for which a correction of 1 was sent.
/// @param passed  coefficients that have one, in the order sent
FW_HD inline void correct_levels(std::uint64_t passed, WordBits& bits, const AcScanDesc& scan,
                                 const BlockLevels& place, const std::uint8_t* order,
                                 std::int16_t* levels) {
  int behind = count_bits(passed);
  const std::uint64_t sent = bits.take(behind);
  if (sent == 0) return;
  for (; passed != 0; passed &= passed - 1) {
    --behind;
    const int k = lowest_bit(passed);
    if ((sent >> behind & 1) == 0 || (place.kept() >> k & 1) == 0) continue;
    std::int16_t& level = levels[place.index(order[k])];
    level = static_cast<std::int16_t>(static_cast<std::uint32_t>(level) | 1u << scan.low_bit);
  }
}

/// The same for a refinement. @param history  of the block before the scan, then behind it
FW_HD inline void refine_block(const AcScanDesc& scan, std::uint32_t block,
                               const BlockLevels& place, const std::uint8_t* order,
                               std::int16_t* levels, std::uint64_t& history) {
  const std::uint32_t start = scan.starts[block];
  if (start == 0) return;
  WordBits bits(scan.words, scan.word_count, start & kBlockStart);
  std::uint64_t rest = band_mask(scan.first, scan.last);
  std::uint64_t found = 0;
  while (rest != 0 && (start & kBlockCoded) != 0) {
    const AcCode code = peek_code(bits, scan.table->entries, scan.table->code);
    if (code.ends_blocks()) {
      (void)take_run(bits, code);
      break;
    }
    const bool negative = (bits.window() << code.length >> 63) == 0;
    bits.drop(code.length + static_cast<int>(code.size()));
    std::uint64_t free = ~history & rest;
    for (std::uint32_t zeros = code.zeros(); zeros != 0; --zeros) free &= free - 1;
    const std::uint64_t bit = free & ~(free - 1);
    correct_levels(history & rest & (bit - 1), bits, scan, place, order, levels);
    rest &= ~(bit | (bit - 1));
    if (code.size() == 0) continue;
    found |= bit;
    if ((place.kept() & bit) == 0) continue;
    const std::uint32_t sign = negative ? 0x8000u : 0u;
    levels[place.index(order[lowest_bit(bit)])] =
        static_cast<std::int16_t>(sign | 1u << scan.low_bit);
  }
  correct_levels(history & rest, bits, scan, place, order, levels);
  history |= found;
}

}  // namespace framewire::codec::cuda
