#include <algorithm>
#include <bit>
#include <codec/turbo/block_decoding.hpp>
#include <codec/turbo/symbol_reading.hpp>

namespace framewire::codec::turbo {
namespace {

/// Index up to which the first of two coefficients cannot be the block's last, so that a second one
/// may be read.
constexpr int kLastPair = 62 - kZeroRun;

enum class SymbolOutcome : std::uint8_t { kGoOn, kEnd, kBad };

/// Bits `first` to `last` of a mask over the coefficients in the order sent.
std::uint64_t band_mask(int first, int last) {
  return (~std::uint64_t{0} << first) & (~std::uint64_t{0} >> (63 - last));
}

/// One symbol of a sequential block, whose last coefficient was the k-th.
[[gnu::always_inline]] inline SymbolOutcome read_one(EntropyBits& bits, const AcTable& table,
                                                     int& k, CoefficientBlock& block) {
  const SymbolEntry entry = table.lookup[bits.peek(kLookupBits)];
  std::int32_t value = entry.value();
  if (value != 0) {
    bits.drop(entry.length());
    k += entry.advance();
  } else {
    const AcSymbol symbol = read_ac_symbol(bits, table, entry);
    if (symbol.size < 0) return SymbolOutcome::kBad;
    if (symbol.size == 0 && symbol.advance != kZeroRun) return SymbolOutcome::kEnd;
    k += symbol.advance;
    if (symbol.size == 0) return SymbolOutcome::kGoOn;
    value = take_value(bits, symbol.size);
  }
  block.at[kNaturalOrderPadded[static_cast<std::size_t>(k)]] = static_cast<std::int16_t>(value);
  return SymbolOutcome::kGoOn;
}

[[gnu::always_inline]] inline bool read_sequential_ac(EntropyBits& bits, const RunBlock& mcu,
                                                      CoefficientBlock& block) {
  int k = 0;
  while (k <= kLastPair) {
    bits.need(kMaxAcBits);
    const PairEntry pair = (*mcu.pairs)[bits.peek(kLookupBits)];
    if (pair.known()) [[likely]] {
      bits.drop(pair.length());
      const auto first = static_cast<std::size_t>(k + pair.first_advance());
      const auto second = static_cast<std::size_t>(k + pair.second_advance());
      block.at[kNaturalOrderPadded[first]] = pair.first();
      block.at[kNaturalOrderPadded[second]] = pair.second();
      k += pair.step();
    } else if (const SymbolOutcome step = read_one(bits, *mcu.ac, k, block);
               step != SymbolOutcome::kGoOn) {
      return step == SymbolOutcome::kEnd;
    }
  }
  if (k >= PairEntry::kEnd) return true;
  while (k < 63) {
    bits.need(kMaxAcBits);
    const SymbolOutcome step = read_one(bits, *mcu.ac, k, block);
    if (step != SymbolOutcome::kGoOn) return step == SymbolOutcome::kEnd;
  }
  return k == 63;
}

/// The length of an end-of-band run of class EOBn (T.81 G.1.2.2).
[[gnu::always_inline]] inline std::int32_t take_run(EntropyBits& bits, int n) {
  return (1 << n) + (n == 0 ? 0 : static_cast<std::int32_t>(bits.take(n)));
}

/// Reads one block's band. An end of band sets scan.end_of_band_run, this block included.
[[gnu::always_inline]] inline bool read_ac_band(EntropyBits& bits, const AcTable& table,
                                                AcScan& scan, CoefficientBlock& block,
                                                std::uint64_t& nonzero) {
  int k = scan.first - 1;
  do {
    bits.need(kMaxAcBits);
    const SymbolEntry entry = table.lookup[bits.peek(kLookupBits)];
    std::int32_t value = entry.value();
    if (value != 0) [[likely]] {
      bits.drop(entry.length());
      k += entry.advance();
    } else {
      const AcSymbol symbol = read_ac_symbol(bits, table, entry);
      if (symbol.size < 0) return false;
      if (symbol.size == 0) {
        if (symbol.advance != kZeroRun) {
          scan.end_of_band_run = take_run(bits, symbol.advance - 1);
          return true;
        }
        k += kZeroRun;
        continue;
      }
      k += symbol.advance;
      value = take_value(bits, symbol.size) * (1 << table.low_bit);
    }
    block.at[kNaturalOrderPadded[static_cast<std::size_t>(k)]] = static_cast<std::int16_t>(value);
    nonzero |= std::uint64_t{1} << (k & 63);
  } while (k < scan.last);
  return k == scan.last;
}

/// Reads a correction bit for each coefficient in `which`, in the order sent (T.81 G.1.2.3).
[[gnu::always_inline]] inline void correct(EntropyBits& bits, int low_bit, std::uint64_t which,
                                           CoefficientBlock& block) {
  for (; which != 0; which &= which - 1) {
    bits.need(1);
    const std::int32_t bit = static_cast<std::int32_t>(bits.take(1)) << low_bit;
    std::int16_t& value =
        block.at[jpeg::kNaturalOrder[static_cast<std::size_t>(std::countr_zero(which))]];
    if ((value & bit) != 0) continue;  // sent before, by a script that repeats itself
    value = static_cast<std::int16_t>(value < 0 ? value - bit : value + bit);
  }
}

/// Moves `k` past `zeros_to_pass` coefficients that were zero and to the next such, correcting the
/// others on the way. @return false where the band has no such place
[[gnu::always_inline]] inline bool pass_zeros(EntropyBits& bits, const AcScan& scan,
                                              int zeros_to_pass, std::uint64_t history, int& k,
                                              CoefficientBlock& block) {
  if (k > scan.last) return false;
  const std::uint64_t rest = band_mask(k, scan.last);
  std::uint64_t zeros = ~history & rest;
  for (; zeros_to_pass > 0; --zeros_to_pass) zeros &= zeros - 1;
  if (zeros == 0) return false;
  k = std::countr_zero(zeros);
  const std::uint64_t before = (std::uint64_t{1} << k) - 1;
  correct(bits, scan.table->low_bit, history & rest & before, block);
  return true;
}

/// Reads the new coefficients of one block's band. @return false where the file is not clean
[[gnu::always_inline]] inline bool refine_band(EntropyBits& bits, AcScan& scan, int& k,
                                               CoefficientBlock& block, std::uint64_t& nonzero) {
  const AcTable& table = *scan.table;
  const std::uint64_t history = nonzero;
  while (k <= scan.last) {
    bits.need(kMaxAcBits);
    const SymbolEntry entry = table.lookup[bits.peek(kLookupBits)];
    std::int32_t value = entry.value();
    int advance = entry.advance();
    if (value != 0) [[likely]] {
      bits.drop(entry.length());
    } else {
      const AcSymbol symbol = read_ac_symbol(bits, table, entry);
      if (symbol.size < 0) return false;
      advance = symbol.advance;
      if (symbol.size == 0 && advance != kZeroRun) {
        scan.end_of_band_run = take_run(bits, advance - 1);
        return true;
      }
      value = take_value(bits, symbol.size) * (1 << table.low_bit);
    }
    if (!pass_zeros(bits, scan, advance - 1, history, k, block)) return false;
    if (value != 0) {
      block.at[jpeg::kNaturalOrder[static_cast<std::size_t>(k)]] = static_cast<std::int16_t>(value);
      nonzero |= std::uint64_t{1} << k;
    }
    ++k;
  }
  return true;
}

}  // namespace

bool decode_sequential(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count) {
  EntropyBits bits = stream;
  for (int m = 0; m < mcu_count; ++m) {
    for (const RunBlock& b : mcu) {
      CoefficientBlock& block = b.block[m * b.stride_blocks];
      if (!read_dc(bits, *b.dc, *b.prediction) || !dc_fits(*b.prediction, 0)) return false;
      block.at[0] = static_cast<std::int16_t>(*b.prediction);
      if (!read_sequential_ac(bits, b, block)) return false;
    }
  }
  stream = bits;
  return true;
}

bool decode_dc_first(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count,
                     int low_bit) {
  EntropyBits bits = stream;
  for (int m = 0; m < mcu_count; ++m) {
    for (const RunBlock& b : mcu) {
      if (!read_dc(bits, *b.dc, *b.prediction) || !dc_fits(*b.prediction, low_bit)) return false;
      b.block[m * b.stride_blocks].at[0] =
          static_cast<std::int16_t>(*b.prediction * (1 << low_bit));
    }
  }
  stream = bits;
  return true;
}

void decode_dc_refinement(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count,
                          int low_bit) {
  EntropyBits bits = stream;
  for (int m = 0; m < mcu_count; ++m) {
    for (const RunBlock& b : mcu) {
      bits.need(1);
      std::int16_t& value = b.block[m * b.stride_blocks].at[0];
      value = static_cast<std::int16_t>(value | static_cast<int>(bits.take(1)) << low_bit);
    }
  }
  stream = bits;
}

bool decode_ac_first(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  EntropyBits bits = stream;
  for (int i = 0; i < run.count;) {
    if (scan.end_of_band_run == 0) {
      if (!read_ac_band(bits, *scan.table, scan, run.blocks[i], run.nonzero[i])) return false;
      if (scan.end_of_band_run == 0) {
        ++i;
        continue;
      }
    }
    const int skipped = std::min(scan.end_of_band_run, run.count - i);
    scan.end_of_band_run -= skipped;
    i += skipped;
  }
  stream = bits;
  return true;
}

bool decode_ac_refinement(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  EntropyBits bits = stream;
  for (int i = 0; i < run.count; ++i) {
    std::uint64_t& nonzero = run.nonzero[i];
    const std::uint64_t history = nonzero;
    int k = scan.first;
    if (scan.end_of_band_run == 0 && !refine_band(bits, scan, k, run.blocks[i], nonzero)) {
      return false;
    }
    if (scan.end_of_band_run == 0) continue;
    if (k <= scan.last) {
      correct(bits, scan.table->low_bit, history & band_mask(k, scan.last), run.blocks[i]);
    }
    --scan.end_of_band_run;
  }
  stream = bits;
  return true;
}

}  // namespace framewire::codec::turbo
