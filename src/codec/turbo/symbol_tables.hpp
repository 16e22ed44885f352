// Huffman tables that give a whole coefficient (run, length and value) by one look-up.
//
// Source: ITU-T T.81 F.2.2.1 and F.2.2.2 (symbols), F.2.2.3 (codes). Most codes and their
// additional bits fit into ten bits together, so that one entry answers for both; measured in
// docs/decisions/0005-own-entropy-decoder.md.
#pragma once

#include <array>
#include <cstdint>
#include <jpeg/huffman.hpp>

namespace framewire::codec::turbo {

inline constexpr int kLookupBits = 10;     ///< measured against 9 and 11 in decision 0005
inline constexpr int kZeroRun = 16;        ///< advance of the symbol for sixteen zeros (ZRL)
inline constexpr int kMaxDcCategory = 15;  ///< as libjpeg; T.81 table F.1 has 11 for 8 bits

/// What the next bits mean, packed: value in the high half, then size, advance and length. The
/// fields below have six bits each, as many as a processor takes of a shift's count.
class SymbolEntry {
 public:
  constexpr SymbolEntry() = default;
  constexpr SymbolEntry(std::int32_t value, int size, int advance, int length)
      : bits_(static_cast<std::uint32_t>(value) << 16 | static_cast<std::uint32_t>(size) << 12 |
              static_cast<std::uint32_t>(advance) << 6 | static_cast<std::uint32_t>(length)) {}

  /// The coefficient, additional bits included; 0: there is none, or it did not fit.
  [[nodiscard]] constexpr std::int32_t value() const {
    return static_cast<std::int32_t>(bits_) >> 16;
  }
  /// SSSS where value() is 0: additional bits still to be read.
  [[nodiscard]] constexpr int size() const { return static_cast<int>(bits_ >> 12 & 15); }
  /// RRRR + 1: from the coefficient before to this one.
  [[nodiscard]] constexpr int advance() const { return static_cast<int>(bits_ >> 6 & 63); }
  /// Bits that the entry covers; 0: the code is longer than the look-up, or invalid.
  [[nodiscard]] constexpr int length() const { return static_cast<int>(bits_ & 63); }

 private:
  std::uint32_t bits_ = 0;
};

/// What the next bits of a sequential block hold, packed, so that the decoding loop waits for one
/// look-up instead of two: two coefficients, or one, or none but the end of the block or sixteen
/// zeros; and whether the block ends behind them. Where there is only one coefficient, both are
/// that one; where there is none, both are zeros.
class PairEntry {
 public:
  constexpr PairEntry() = default;
  PairEntry(SymbolEntry first, SymbolEntry second, int length, int advance, bool ends)
      : bits_(static_cast<std::uint64_t>(length) | field(first.advance(), 8) | field(advance, 16) |
              field(first.value() & 0xFFFF, 24) | field(second.value() & 0xFFFF, 40) |
              field(ends ? 0 : 1, 63)) {}

  [[nodiscard]] int length() const { return static_cast<int>(bits_ & 0xFF); }
  /// From the coefficient before the pair to its first, and to its second, behind which decoding
  /// goes on. The latter leaves any block where the look-up does not hold one symbol with its
  /// value.
  [[nodiscard]] std::size_t first_advance() const { return bits_ >> 8 & 0xFF; }
  [[nodiscard]] std::size_t advance() const { return bits_ >> 16 & 0xFF; }
  [[nodiscard]] std::int16_t first() const { return static_cast<std::int16_t>(bits_ >> 24); }
  [[nodiscard]] std::int16_t second() const { return static_cast<std::int16_t>(bits_ >> 40); }
  /// −1, all ones, where the block goes on behind the pair; 0 where it ends.
  [[nodiscard]] std::int64_t goes_on() const { return static_cast<std::int64_t>(bits_) >> 63; }

 private:
  static std::uint64_t field(int value, int shift) {
    return static_cast<std::uint64_t>(value) << shift;
  }

  std::uint64_t bits_ = std::uint64_t{64} << 16;
};
using PairTable = std::array<PairEntry, 1 << kLookupBits>;

struct AcTable {
  std::array<SymbolEntry, 1 << kLookupBits> lookup;
  jpeg::HuffmanDecodeTable codes;
  int low_bit = 0;   ///< Al: values come shifted by it
  int max_size = 0;  ///< the largest SSSS of which every value fits into 16 bits
};

/// Table of DC codes. value() of an entry is the difference, which may be 0; length() is also 0
/// where the difference did not fit.
struct DcTable {
  std::array<SymbolEntry, 1 << kLookupBits> lookup;
  jpeg::HuffmanDecodeTable codes;
};

/// @param table       jpeg::is_valid()
/// @param low_bit     Al; 0 for sequential scans
/// @param refinement  true: sizes above 1 count as bad codes (T.81 G.1.2.3)
[[nodiscard]] AcTable make_ac_table(const jpeg::HuffmanTable& table, int low_bit, bool refinement);
[[nodiscard]] DcTable make_dc_table(const jpeg::HuffmanTable& table);
/// Of sequential scans: AC symbols in pairs, and a DC difference with the AC symbol behind it.
[[nodiscard]] PairTable make_pair_table(const AcTable& table);
[[nodiscard]] PairTable make_pair_table(const DcTable& dc, const AcTable& ac);

}  // namespace framewire::codec::turbo
