#include <algorithm>
#include <codec/turbo/block_decoding.hpp>
#include <codec/turbo/symbol_reading.hpp>

namespace framewire::codec::turbo {
namespace {

/// Look-ups for which one refill has enough bits, the last of which may turn out to be a long
/// symbol.
constexpr int kLookUpsARefill = 1 + (EntropyBits::kRefilled - kMaxAcBits) / kLookupBits;

/// Most blocks that are decoded in one go; an MCU has at most ten.
constexpr int kMostSteps = 64;

enum class SymbolOutcome : std::uint8_t { kGoOn, kEnd, kBad };

/// One symbol of a sequential block, whose last coefficient was the k-th.
[[gnu::always_inline]] inline SymbolOutcome read_one(EntropyBits& bits, const AcTable& table,
                                                     std::size_t& k, CoefficientBlock& block) {
  const SymbolEntry entry = table.lookup[bits.peek(kLookupBits)];
  std::int32_t value = entry.value();
  if (value != 0) {
    bits.drop(entry.length());
    k += static_cast<std::size_t>(entry.advance());
  } else {
    const AcSymbol symbol = read_ac_symbol(bits, table, entry);
    if (symbol.size < 0) return SymbolOutcome::kBad;
    if (symbol.size == 0 && symbol.advance != kZeroRun) return SymbolOutcome::kEnd;
    k += static_cast<std::size_t>(symbol.advance);
    if (symbol.size == 0) return SymbolOutcome::kGoOn;
    value = take_value(bits, symbol.size);
  }
  block.at[kNaturalOrderPadded[k]] = static_cast<std::int16_t>(value);
  return SymbolOutcome::kGoOn;
}

/// A block to decode, and the tables to do it with. Behind the last one is a step without a block.
struct BlockStep {
  const PairEntry* dc;
  std::ptrdiff_t to_ac;  ///< from the next step's DC table to this step's AC table, entries
  CoefficientBlock* block;
  const RunBlock* tables;

  [[nodiscard]] const PairEntry* ac() const { return this[1].dc + to_ac; }
};

/// Where decoding is: in the block of `step`, whose last coefficient was the k-th; `table` knows
/// what comes next.
struct SequentialState {
  EntropyBits bits;
  const BlockStep* step;
  const PairEntry* table;
  std::size_t k;
};

/// Reads one symbol that no look-up knows, or that may fill the block.
/// @return false where the data is not clean
[[gnu::always_inline]] inline bool read_rare(SequentialState& state) {
  const BlockStep& step = *state.step;
  if (state.table == step.dc) {
    std::int32_t difference = 0;
    if (!read_dc(state.bits, *step.tables->dc, difference)) return false;
    step.block->at[0] = static_cast<std::int16_t>(difference);
    state.table = step.ac();
    return true;
  }
  state.bits.need(kMaxAcBits);
  const SymbolOutcome outcome = read_one(state.bits, *step.tables->ac, state.k, *step.block);
  if (outcome == SymbolOutcome::kBad || state.k > 63) return false;
  if (outcome == SymbolOutcome::kEnd || state.k == 63) {
    ++state.step;
    state.table = state.step->dc;
    state.k = 0;
  }
  return true;
}

/// Decodes the blocks of `steps`. DC coefficients are differences afterwards.
///
/// Nobody can predict with which symbol a block ends, so nothing branches on it: the table and the
/// block of the symbols behind are chosen by arithmetic.
[[gnu::always_inline]] inline bool decode_steps(EntropyBits& stream, const BlockStep* steps) {
  SequentialState state{stream, steps, steps->dc, 0};
  for (;;) {
    // Copies, so that they stay in registers.
    EntropyBits bits = state.bits;
    const BlockStep* step = state.step;
    const PairEntry* table = state.table;
    std::size_t k = state.k;
    for (bool known = true; known;) {
      bits.refill();
#pragma GCC unroll 4
      for (int i = 0; i < kLookUpsARefill; ++i) {
        const PairEntry entry = table[bits.peek(kLookupBits)];
        const std::size_t last = k + entry.advance();
        known = last < 63;
        if (!known) [[unlikely]] {
          break;
        }
        bits.drop(entry.length());
        std::int16_t* const block = step->block->at.data();
        block[jpeg::kNaturalOrder[k + entry.first_advance()]] = entry.first();
        block[jpeg::kNaturalOrder[last]] = entry.second();
        const std::int64_t goes_on = entry.goes_on();
        table = step[1].dc + (step->to_ac & goes_on);
        k = last & static_cast<std::size_t>(goes_on);
        step += 1 + goes_on;
      }
    }
    state = {bits, step, table, k};
    if (step->block == nullptr) break;
    if (!read_rare(state)) return false;
  }
  stream = state.bits;
  return true;
}

/// Makes DC coefficients of the differences. They wrap at 16 bits, as in libjpeg and in the CUDA
/// codec, neither of which tells.
void add_predictions(std::span<const BlockStep> steps) {
  for (const BlockStep& step : steps) {
    std::int32_t& prediction = *step.tables->prediction;
    step.block->at[0] = static_cast<std::int16_t>(prediction + step.block->at[0]);
    prediction = step.block->at[0];
  }
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

bool decode_sequential(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count,
                       const PairEntry* no_pairs) {
  std::array<BlockStep, kMostSteps + 1> steps;
  const int mcus_a_go = kMostSteps / static_cast<int>(mcu.size());
  for (int begin = 0; begin < mcu_count; begin += mcus_a_go) {
    std::size_t count = 0;
    for (int m = begin; m < std::min(mcu_count, begin + mcus_a_go); ++m) {
      for (const RunBlock& b : mcu) {
        steps[count++] = {b.dc_pairs, 0, b.block + m * b.stride_blocks, &b};
      }
    }
    steps[count] = {no_pairs, 0, nullptr, nullptr};
    for (std::size_t i = 0; i < count; ++i) {
      steps[i].to_ac = steps[i].tables->ac_pairs - steps[i + 1].dc;
    }
    if (!decode_steps(stream, steps.data())) return false;
    add_predictions(std::span(steps).first(count));
  }
  return true;
}

bool decode_dc_first(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count,
                     int low_bit) {
  EntropyBits bits = stream;
  for (int m = 0; m < mcu_count; ++m) {
    for (const RunBlock& b : mcu) {
      if (!read_dc(bits, *b.dc, *b.prediction)) return false;
      *b.prediction = static_cast<std::int16_t>(*b.prediction);  // wraps, see add_predictions()
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
