// One symbol at a time from EntropyBits, by way of the look-up tables.
#pragma once

#include <codec/turbo/entropy_bits.hpp>
#include <codec/turbo/symbol_tables.hpp>
#include <jpeg/zigzag.hpp>

namespace framewire::codec::turbo {

/// Bits of the longest code and of the longest value that follows it.
inline constexpr int kMaxAcBits = jpeg::kMaxCodeBits + 15;
inline constexpr int kMaxDcBits = jpeg::kMaxCodeBits + kMaxDcCategory;

/// jpeg::kNaturalOrder with elements for runs that leave the block and have not been checked yet.
inline constexpr std::array<std::uint8_t, 96> kNaturalOrderPadded = [] {
  std::array<std::uint8_t, 96> order{};
  order.fill(63);
  for (std::size_t k = 0; k < jpeg::kNaturalOrder.size(); ++k) order[k] = jpeg::kNaturalOrder[k];
  return order;
}();

struct LongSymbol {
  EntropyBits bits;
  int symbol;
};
/// Reads a code of any length. Takes the bits by value, so that the caller's copy can stay in
/// registers.
[[gnu::noinline]] inline LongSymbol read_long_symbol(EntropyBits bits,
                                                     const jpeg::HuffmanDecodeTable& codes) {
  const int symbol = jpeg::decode_symbol(bits, codes);
  return {bits, symbol};
}

/// jpeg::extend() of the next `size` bits without a branch, since signs cannot be predicted.
[[gnu::always_inline]] inline std::int32_t take_value(EntropyBits& bits, int size) {
  if (size == 0) return 0;
  const auto value = static_cast<std::int32_t>(bits.take(size));
  const std::int32_t if_negative = (value - (1 << (size - 1))) >> 31;
  return value + (if_negative & (1 - (1 << size)));
}

/// Meaning of a code without its value. A size below 0 means a bad code.
struct AcSymbol {
  int size;
  int advance;
};

/// The symbol for which the look-up gave `entry` without a value; its code is consumed.
[[gnu::always_inline]] inline AcSymbol read_ac_symbol(EntropyBits& bits, const AcTable& table,
                                                      SymbolEntry entry) {
  if (entry.length() != 0) [[likely]] {
    bits.drop(entry.length());
    return {entry.size(), entry.advance()};
  }
  const LongSymbol found = read_long_symbol(bits, table.codes);
  bits = found.bits;
  const int size = found.symbol & 15;
  if (found.symbol < 0 || size > table.max_size) return {-1, 0};
  return {size, (found.symbol >> 4) + 1};
}

/// The length of an end-of-band run of class EOBn (T.81 G.1.2.2).
[[gnu::always_inline]] inline std::int32_t take_run(EntropyBits& bits, int n) {
  return (1 << n) + (n == 0 ? 0 : static_cast<std::int32_t>(bits.take(n)));
}

/// Reads a DC difference and adds it to `prediction`. @return false for a bad code or size
[[gnu::always_inline]] inline bool read_dc(EntropyBits& bits, const DcTable& table,
                                           std::int32_t& prediction) {
  bits.need(kMaxDcBits);
  const SymbolEntry entry = table.lookup[bits.peek(kLookupBits)];
  if (entry.length() != 0) [[likely]] {
    bits.drop(entry.length());
    prediction += entry.value();
    return true;
  }
  const LongSymbol found = read_long_symbol(bits, table.codes);
  bits = found.bits;
  if (found.symbol < 0 || found.symbol > kMaxDcCategory) return false;
  prediction += take_value(bits, found.symbol);
  return true;
}

}  // namespace framewire::codec::turbo
