// Huffman decoding of runs of blocks, sequential and progressive: the loops that take most of the
// time.
//
// Source: ITU-T T.81 F.2.2 (sequential), G.1.2 and G.2 (progressive). Every function returns false
// on anything that a clean file does not have; what it has written by then is meaningless. Beyond
// the end of the data zeros are read; the caller asks EntropyBits::overrun().
#pragma once

#include <codec/turbo/coefficient_block.hpp>
#include <codec/turbo/coefficient_mask.hpp>
#include <codec/turbo/entropy_bits.hpp>
#include <codec/turbo/symbol_tables.hpp>
#include <span>

namespace framewire::codec::turbo {

/// One of the blocks that make up an MCU, in the first MCU of a run.
struct RunBlock {
  CoefficientBlock* block = nullptr;
  int stride_blocks = 1;               ///< to the same block of the next MCU
  std::int32_t* prediction = nullptr;  ///< DC of the component's block before
  const DcTable* dc = nullptr;
  const AcTable* ac = nullptr;
  // Sequential only, PairTables of one array: of DC with AC behind it, and of AC.
  const PairEntry* dc_pairs = nullptr;
  const PairEntry* ac_pairs = nullptr;
};

/// What an AC scan of a progressive file sends, and its run of blocks without coefficients.
struct AcScan {
  int first = 1;  ///< Ss
  int last = 63;  ///< Se
  const AcTable* table = nullptr;
  std::int32_t end_of_band_run = 0;  ///< blocks still to come for which nothing is coded
};

/// Coefficients of one component's blocks, with what earlier scans left there.
struct AcRun {
  CoefficientBlock* blocks = nullptr;  ///< [count]
  std::uint64_t* nonzero = nullptr;  ///< [count]: mask_bit(k) is set where the k-th coefficient is
  int count = 0;
};

/// Decodes all coefficients of `mcu_count` MCUs. Blocks must be zero before.
/// @param no_pairs  a PairTable that knows no symbol, in the array of the MCU's
[[nodiscard]] bool decode_sequential(EntropyBits& stream, std::span<const RunBlock> mcu,
                                     int mcu_count, const PairEntry* no_pairs);

/// Decodes DC of a progressive file: first scan; decode_dc_refinement() reads one more bit.
/// @param low_bit  Al
[[nodiscard]] bool decode_dc_first(EntropyBits& stream, std::span<const RunBlock> mcu,
                                   int mcu_count, int low_bit);
void decode_dc_refinement(EntropyBits& stream, std::span<const RunBlock> mcu, int mcu_count,
                          int low_bit);

/// Decodes a band of AC coefficients: first scan. What follows is in refinement.hpp.
[[nodiscard]] bool decode_ac_first(EntropyBits& stream, AcScan& scan, const AcRun& run);

}  // namespace framewire::codec::turbo
