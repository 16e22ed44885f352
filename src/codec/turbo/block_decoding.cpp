#include <algorithm>
#include <codec/turbo/block_decoding.hpp>
#include <codec/turbo/symbol_reading.hpp>

namespace framewire::codec::turbo {
namespace {

/// Index up to which the first of two coefficients cannot be the block's last, so that a second one
/// may be read.
constexpr int kLastPair = 62 - kZeroRun;

enum class SymbolOutcome : std::uint8_t { kGoOn, kEnd, kBad };

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
    nonzero |= mask_bit(k & 63);
  } while (k < scan.last);
  return k == scan.last;
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

}  // namespace framewire::codec::turbo
