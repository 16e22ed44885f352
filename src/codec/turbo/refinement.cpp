#include <bit>
#include <codec/turbo/refinement.hpp>
#include <codec/turbo/symbol_reading.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace framewire::codec::turbo {
namespace {

struct PortableMasks {
  /// The n-th set bit of `mask` from the top; 0 where there are fewer.
  static std::uint64_t select(std::uint64_t mask, int n) {
    for (; n > 1 && mask != 0; --n) mask ^= std::bit_floor(mask);
    return std::bit_floor(mask);
  }
  /// Puts the lowest bits of `bits` where `mask` has bits.
  static std::uint64_t deposit(std::uint64_t bits, std::uint64_t mask) {
    std::uint64_t found = 0;
    for (; mask != 0; mask &= mask - 1, bits >>= 1) {
      if ((bits & 1) != 0) found |= mask & (~mask + 1);
    }
    return found;
  }
};

/// Reads a correction bit for each coefficient in `which`. @return those whose bit is 1
template <typename Masks>
[[gnu::always_inline]] inline std::uint64_t read_corrections(EntropyBits& bits,
                                                             std::uint64_t which) {
  constexpr std::uint64_t kLowHalf = 0xFFFFFFFFu;
  const int count = std::popcount(which);
  if (count <= EntropyBits::kRefilled) [[likely]] {
    bits.need(count);
    return Masks::deposit(bits.take_many(count), which);
  }
  const std::uint64_t high = which & ~kLowHalf;
  bits.need(32);
  const std::uint64_t first = Masks::deposit(bits.take_many(std::popcount(high)), high);
  bits.need(32);
  return first | Masks::deposit(bits.take_many(std::popcount(which & kLowHalf)), which & kLowHalf);
}

/// What is left to read of one block's band, and what has been read.
struct BandState {
  std::uint64_t history;     ///< coefficients that were not zero before this scan
  std::uint64_t rest;        ///< coefficients that are not passed yet
  std::uint64_t raised = 0;  ///< those of `history` whose correction bit is 1
  std::uint64_t added = 0;   ///< coefficients that this scan sends first
};

/// Reads the new coefficients of one block's band and the corrections between them, up to the end
/// of the band, which sets scan.end_of_band_run, or to the last coefficient.
template <typename Masks>
[[gnu::always_inline]] inline bool refine_band(EntropyBits& bits, AcScan& scan, BandState& state,
                                               CoefficientBlock& block) {
  const AcTable& table = *scan.table;
  BandState band = state;
  while (band.rest != 0) {
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
        break;
      }
      value = take_value(bits, symbol.size) * (1 << table.low_bit);
    }
    const std::uint64_t place = Masks::select(~band.history & band.rest, advance);
    if (place == 0) return false;
    const std::uint64_t passed = band.history & band.rest & ~(place ^ (place - 1));
    band.raised |= read_corrections<Masks>(bits, passed);
    band.rest &= place - 1;
    if (value != 0) {
      const auto k = static_cast<std::size_t>(std::countl_zero(place));
      block.at[jpeg::kNaturalOrder[k]] = static_cast<std::int16_t>(value);
      band.added |= place;
    }
  }
  state = band;
  return true;
}

/// Moves the coefficients in `which` away from zero by one step.
[[gnu::always_inline]] inline void raise(std::uint64_t which, int low_bit,
                                         CoefficientBlock& block) {
  const std::int32_t step = 1 << low_bit;
  while (which != 0) {
    const int k = std::countl_zero(which);
    which ^= mask_bit(k);
    std::int16_t& value = block.at[jpeg::kNaturalOrder[static_cast<std::size_t>(k)]];
    if ((value & step) != 0) continue;  // sent before, by a script that repeats itself
    value = static_cast<std::int16_t>(value < 0 ? value - step : value + step);
  }
}

template <typename Masks>
[[gnu::always_inline]] inline bool refine(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  EntropyBits bits = stream;
  const std::uint64_t whole = mask_band(scan.first, scan.last);
  const int low_bit = scan.table->low_bit;
  for (int i = 0; i < run.count; ++i) {
    BandState band{run.nonzero[i] & whole, whole};
    if (scan.end_of_band_run == 0 && !refine_band<Masks>(bits, scan, band, run.blocks[i])) {
      return false;
    }
    run.nonzero[i] |= band.added;
    if (scan.end_of_band_run != 0) {
      --scan.end_of_band_run;
      band.raised |= read_corrections<Masks>(bits, band.history & band.rest);
    }
    raise(band.raised, low_bit, run.blocks[i]);
  }
  stream = bits;
  return true;
}

}  // namespace

bool decode_ac_refinement_portable(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  return refine<PortableMasks>(stream, scan, run);
}

#if defined(__x86_64__)

namespace {

struct DepositMasks {
  [[gnu::target("bmi2,popcnt")]] static std::uint64_t select(std::uint64_t mask, int n) {
    return _pdep_u64(std::uint64_t{1} << std::popcount(mask) >> (n & 63), mask);
  }
  [[gnu::target("bmi2,popcnt")]] static std::uint64_t deposit(std::uint64_t bits,
                                                              std::uint64_t mask) {
    return _pdep_u64(bits, mask);
  }
};

}  // namespace

[[gnu::target("bmi,bmi2,popcnt")]] bool decode_ac_refinement_bmi2(EntropyBits& stream, AcScan& scan,
                                                                  const AcRun& run) {
  return refine<DepositMasks>(stream, scan, run);
}

bool has_fast_deposit() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
         __builtin_cpu_supports("popcnt") != 0 && __builtin_cpu_is("znver1") == 0 &&
         __builtin_cpu_is("znver2") == 0;
}

bool decode_ac_refinement(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  static const bool fast = has_fast_deposit();
  return fast ? decode_ac_refinement_bmi2(stream, scan, run)
              : decode_ac_refinement_portable(stream, scan, run);
}

#else

bool decode_ac_refinement(EntropyBits& stream, AcScan& scan, const AcRun& run) {
  return decode_ac_refinement_portable(stream, scan, run);
}

#endif

}  // namespace framewire::codec::turbo
