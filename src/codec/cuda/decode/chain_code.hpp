// Codes of AC scans in the form that chains take them in (ac_chain.hpp): nothing is computed behind
// a lookup that can be computed before.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_scan.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Where the n-th of 8 bits lies that are set.
namespace nth_bit {

/// @return a row of 4 bits for each n from 0 to 6, the lowest ones for 0: one more than the place;
///         0 for none
FW_HD inline std::uint32_t make_row(std::uint32_t bits8) {
  std::uint32_t row = 0;
  for (std::uint32_t n = 0; bits8 != 0 && n < 7; ++n, bits8 &= bits8 - 1) {
    row |= (static_cast<std::uint32_t>(lowest_bit(bits8)) + 1) << (4 * n);
  }
  return row;
}
/// @param shift  4 times n; 28 finds nothing. Bits above the lowest 5 do not count.
FW_HD inline std::uint32_t find(std::uint32_t row, std::uint32_t shift) {
  return row >> (shift & 31) & 15;
}
/// @param n  up to 15; from 7 on finds nothing
FW_HD inline std::uint32_t find_any(std::uint32_t row, std::uint32_t n) {
  return static_cast<std::uint32_t>(std::uint64_t{row} >> (4 * n)) & 15;
}

}  // namespace nth_bit

/// A code as a chain needs it, in 16 bits:
///   0 to 4    shift for nth_bit::find(), which finds nothing for codes that are not plain
///   5 to 8    the zeros that it passes; for class EOBn the number of additional bits
///   9 to 13   what it drops with its additional bits; in refinements less the zeros and 1, modulo
///             32
///   14        it ends the block, and maybe others: class EOBn
///   15        it finds a coefficient that is not zero
/// A code is plain if its coefficient may be one of the next 7 that are free. A plain one finds it:
/// without a size there are only EOBn and 16 zeros.
namespace chain_code {

inline constexpr std::uint32_t kNoShift = 28;
inline constexpr std::uint32_t kNone = kNoShift;
inline constexpr std::uint32_t kEnds = 1u << 14;
inline constexpr std::uint32_t kFinds = 1u << 15;

FW_HD inline std::uint32_t make(const AcCode& code, bool refines) {
  if (code.length == 0 || (refines && code.size() > 1)) return kNone;
  const bool ends = code.ends_blocks();
  const std::uint32_t more = ends ? code.zeros() : code.size();
  const std::uint32_t dropped = static_cast<std::uint32_t>(code.length) + more;
  const std::uint32_t passed = refines ? code.zeros() + 1 : 0;
  const std::uint32_t shift = ends || code.zeros() > 6 ? kNoShift : 4 * code.zeros();
  return shift | code.zeros() << 5 | ((dropped - passed) & 31) << 9 | (ends ? kEnds : 0) |
         (code.size() != 0 ? kFinds : 0);
}
FW_HD inline std::uint32_t zeros(std::uint32_t code) { return code >> 5 & 15; }
FW_HD inline bool finds(std::uint32_t code) { return (code & kFinds) != 0; }
/// What a code of a first scan drops.
FW_HD inline std::uint32_t dropped(std::uint32_t code) { return code >> 9 & 31; }
FW_HD inline std::uint32_t dropped_in_refinement(std::uint32_t code) {
  return ((code >> 9) + zeros(code) + 1) & 31;
}
/// What a code drops with the corrections up to its coefficient, modulo 32; bits above do not
/// count.
/// @param passed  coefficients up to that one
FW_HD inline std::uint32_t dropped_up_to(std::uint32_t code, std::uint32_t passed) {
  return (code >> 9) + passed;
}
/// How many blocks a code of class EOBn ends.
/// @param dropped  what it drops
/// @param window   32 bits that begin with the code
FW_HD inline std::uint32_t run(std::uint32_t code, std::uint32_t dropped, std::uint32_t window) {
  const std::uint32_t one = 1u << zeros(code);
  return one + (window >> 1 >> (31 - dropped) & (one - 1));
}

}  // namespace chain_code

/// Where codes lie that are longer than the index of a table.
struct FarCodes {
  std::uint32_t begin = 0;  ///< the first 16 bits that begin such a code
  std::uint32_t shift = 0;  ///< bits that an index leaves out; codes that need them are in no table

  FarCodes() = default;
  /// @param code    of a table that is jpeg::is_valid(): limits are at most 0x10000
  /// @param longer  those beyond this length
  /// @param count   elements of their table
  FW_HD FarCodes(const CanonicalCode& code, int longer, std::uint32_t count)
      : begin(code.limit[longer]) {
    const std::uint32_t all = 0x10000 - begin;
    while (all > count << shift) ++shift;
  }
  FW_HD bool has(std::uint32_t bits16) const { return bits16 >= begin; }
  /// Below the table's `count`, if has().
  FW_HD std::uint32_t index(std::uint32_t bits16) const { return (bits16 - begin) >> shift; }
  /// Bits for which index() is `index`.
  FW_HD std::uint32_t bits_of(std::uint32_t index) const { return begin + (index << shift); }
};

}  // namespace framewire::codec::cuda
