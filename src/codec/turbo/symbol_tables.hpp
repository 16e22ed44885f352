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
inline constexpr int kMaxDcCategory = 11;  ///< of 8-bit samples (T.81 table F.1)

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

/// Two coefficients of a sequential block, or one and the end of the block, packed, so that the
/// decoding loop waits for one look-up, not two. Where there is only one coefficient, both are that
/// one.
class PairEntry {
 public:
  /// Added to step() where the block ends behind the coefficients.
  static constexpr int kEnd = 128;

  constexpr PairEntry() = default;
  PairEntry(SymbolEntry first, SymbolEntry second, int length, int second_advance, bool end)
      : bits_(static_cast<std::uint64_t>(length) | field(first.advance(), 8) |
              field(second_advance, 16) | field(second_advance + (end ? kEnd : 0), 24) |
              field(first.value() & 0xFFFF, 32) | field(second.value() & 0xFFFF, 48)) {}

  /// False where the look-up does not hold even one coefficient.
  [[nodiscard]] bool known() const { return bits_ != 0; }
  [[nodiscard]] int length() const { return byte(0); }
  /// Distances from the coefficient before the pair: to its first, to its second, and to where
  /// decoding goes on.
  [[nodiscard]] int first_advance() const { return byte(8); }
  [[nodiscard]] int second_advance() const { return byte(16); }
  [[nodiscard]] int step() const { return byte(24); }
  [[nodiscard]] std::int16_t first() const { return static_cast<std::int16_t>(bits_ >> 32); }
  [[nodiscard]] std::int16_t second() const { return static_cast<std::int16_t>(bits_ >> 48); }

 private:
  static std::uint64_t field(int value, int shift) {
    return static_cast<std::uint64_t>(value) << shift;
  }
  [[nodiscard]] int byte(int shift) const { return static_cast<int>(bits_ >> shift & 0xFF); }

  std::uint64_t bits_ = 0;
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
/// @param table  of a sequential scan
[[nodiscard]] PairTable make_pair_table(const AcTable& table);

}  // namespace framewire::codec::turbo
