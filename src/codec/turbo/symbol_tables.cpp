#include <algorithm>
#include <codec/turbo/symbol_tables.hpp>

namespace framewire::codec::turbo {
namespace {

/// The code that `bits` begin with, as length << 8 | symbol; 0: longer than the look-up, or none.
std::uint32_t find_code(const jpeg::HuffmanDecodeTable& codes, std::uint32_t bits) {
  const std::uint32_t known = codes.lookup[bits >> (kLookupBits - jpeg::kLookaheadBits)];
  if (known != 0) return known;
  for (int length = jpeg::kLookaheadBits + 1; length <= kLookupBits; ++length) {
    const auto code = static_cast<std::int32_t>(bits >> (kLookupBits - length));
    if (code <= codes.max_code[length]) {
      return static_cast<std::uint32_t>(length) << 8 |
             codes.values[(code + codes.value_offset[length]) & 0xFF];
    }
  }
  return 0;
}

/// Value of the additional bits that follow a code of `length` bits in the look-up's index.
std::int32_t value_after(std::uint32_t bits, int length, int size) {
  const std::uint32_t rest = bits >> (kLookupBits - length - size);
  return jpeg::extend(rest & ((1u << size) - 1u), size);
}

bool is_end(SymbolEntry entry) {
  return entry.length() != 0 && entry.value() == 0 && entry.size() == 0 &&
         entry.advance() != kZeroRun;
}

bool is_zero_run(SymbolEntry entry) {
  return entry.length() != 0 && entry.value() == 0 && entry.size() == 0 &&
         entry.advance() == kZeroRun;
}

/// `first` and, if they fit into `bits` behind it, an AC coefficient or the end of the block.
PairEntry pair_of(SymbolEntry first, std::uint32_t bits, const AcTable& table) {
  const SymbolEntry next = table.lookup[(bits << first.length()) % table.lookup.size()];
  const bool fits = next.length() != 0 && first.length() + next.length() <= kLookupBits;
  const bool pair = fits && next.value() != 0;
  const bool ends = fits && is_end(next);
  return {first, pair ? next : first, first.length() + (pair || ends ? next.length() : 0),
          first.advance() + (pair ? next.advance() : 0), ends};
}

}  // namespace

AcTable make_ac_table(const jpeg::HuffmanTable& table, int low_bit, bool refinement) {
  AcTable made{{}, jpeg::make_decode_table(table), low_bit, refinement ? 1 : 15 - low_bit};
  for (std::uint32_t bits = 0; bits < made.lookup.size(); ++bits) {
    const std::uint32_t code = find_code(made.codes, bits);
    const int length = static_cast<int>(code >> 8);
    const int size = static_cast<int>(code & 15);
    const int advance = static_cast<int>(code >> 4 & 15) + 1;
    if (length == 0 || size > made.max_size) continue;
    const bool whole = size != 0 && length + size <= kLookupBits;
    const std::int32_t value = whole ? value_after(bits, length, size) * (1 << low_bit) : 0;
    made.lookup[bits] = SymbolEntry(value, size, advance, whole ? length + size : length);
  }
  return made;
}

PairTable make_pair_table(const AcTable& table) {
  PairTable made{};
  for (std::uint32_t bits = 0; bits < made.size(); ++bits) {
    const SymbolEntry first = table.lookup[bits];
    if (is_end(first) || is_zero_run(first)) {
      const int advance = is_end(first) ? 1 : kZeroRun;
      made[bits] = PairEntry(SymbolEntry(0, 0, advance, 0), SymbolEntry(), first.length(), advance,
                             is_end(first));
    } else if (first.value() != 0) {
      made[bits] = pair_of(first, bits, table);
    }
  }
  return made;
}

PairTable make_pair_table(const DcTable& dc, const AcTable& ac) {
  PairTable made{};
  for (std::uint32_t bits = 0; bits < made.size(); ++bits) {
    if (dc.lookup[bits].length() != 0) made[bits] = pair_of(dc.lookup[bits], bits, ac);
  }
  return made;
}

DcTable make_dc_table(const jpeg::HuffmanTable& table) {
  DcTable made{{}, jpeg::make_decode_table(table)};
  for (std::uint32_t bits = 0; bits < made.lookup.size(); ++bits) {
    const std::uint32_t code = find_code(made.codes, bits);
    const int length = static_cast<int>(code >> 8);
    const int size = static_cast<int>(code & 0xFF);
    if (length == 0 || length + size > kLookupBits) continue;
    made.lookup[bits] = SymbolEntry(value_after(bits, length, size), 0, 0, length + size);
  }
  return made;
}

}  // namespace framewire::codec::turbo
