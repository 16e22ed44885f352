// Device-side access to columns and tables, shared by the kernels of the entropy decoder.
#pragma once

#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>
#include <codec/cuda/decode/span_decoder.hpp>

namespace framewire::codec::cuda {

/// One column: the words of 32 neighbouring subsequences are interleaved, so that a warp in which
/// each lane reads its own column reads whole cache lines.
struct ColumnWords {
  const std::uint32_t* words;
  __device__ std::uint32_t operator[](std::uint32_t index) const { return words[index * 32]; }
};

inline __device__ std::uint64_t column_offset(const DecodeView& batch, std::uint32_t subsequence) {
  const std::uint32_t words = column_words(batch.layout.subsequence_bytes);
  return static_cast<std::uint64_t>(subsequence >> 5) * (words * 32) + (subsequence & 31);
}
inline __device__ ColumnWords column_of(const DecodeView& batch, std::uint32_t subsequence) {
  return {batch.columns + column_offset(batch, subsequence)};
}

/// Codes that the lookup tables of one scan's slots do not hold: a table in shared memory, and for
/// the rest the canonical codes in global memory.
struct LongCodes {
  const std::uint16_t* longs;   ///< [slots × 2][kLongEntries]
  const std::uint32_t* starts;  ///< [slots × 2] long_start()
  const std::uint32_t* pairs;
  const TablePair* all;
  __device__ FirstHalf find(std::uint32_t table, std::uint32_t window) const {
    const bool dc = (table & 1) == 0;
    const std::uint32_t index = (window >> 16) - starts[table];
    if (index < kLongEntries) return describe_long(longs[table * kLongEntries + index], dc);
    return walk_code(all[pairs[table >> 1]].code[table & 1], dc, window);
  }
};

/// Tables of one scan's slots for finding where symbols begin.
struct SharedTables {
  const std::uint32_t* entries;  ///< shared, [slots × 2][kTableEntries]
  LongCodes long_codes;
  __device__ std::uint32_t entry(std::uint32_t table, std::uint32_t index) const {
    return entries[table << kTableBits | index];
  }
  __device__ std::uint32_t slow(std::uint32_t table, std::uint32_t window) const {
    const FirstHalf first = long_codes.find(table, window);
    return make_entry(first, first.half);
  }
};

/// Tables of one scan's slots for reading values too.
struct SharedSteps {
  const Step* steps;  ///< shared, [slots × 2][kStepEntries]
  LongCodes long_codes;
  __device__ Step step(std::uint32_t table, std::uint32_t index) const {
    return steps[table << kStepBits | index];
  }
  __device__ Step slow_step(std::uint32_t table, std::uint32_t window) const {
    return single_step(long_codes.find(table, window));
  }
};

/// Bytes of shared memory for the tables of `pair_count` slots.
FW_HD constexpr std::uint32_t long_bytes(std::uint32_t pair_count) {
  return pair_count * (2 * kLongEntries * 2 + 16);
}
FW_HD constexpr std::uint32_t table_bytes(std::uint32_t pair_count) {
  return pair_count * 2 * kTableEntries * 4 + long_bytes(pair_count);
}
FW_HD constexpr std::uint32_t step_bytes(std::uint32_t pair_count) {
  return pair_count * 2 * kStepEntries * 8 + long_bytes(pair_count);
}

inline __device__ void copy_quads(void* to, const void* from, std::uint32_t bytes) {
  for (std::uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
    static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
  }
}

/// Copies into long_bytes() of shared memory; the caller synchronises.
inline __device__ LongCodes load_long_codes(const ScanDesc& scan, const TablePair* pairs,
                                            void* shared) {
  auto* longs = static_cast<std::uint16_t*>(shared);
  auto* starts = reinterpret_cast<std::uint32_t*>(longs + scan.pair_count * 2 * kLongEntries);
  for (std::uint32_t slot = 0; slot < scan.pair_count; ++slot) {
    const TablePair& pair = pairs[scan.pairs[slot]];
    copy_quads(longs + slot * 2 * kLongEntries, pair.longs, sizeof pair.longs);
    if (threadIdx.x < 2) starts[slot * 2 + threadIdx.x] = long_start(pair.code[threadIdx.x]);
  }
  return {longs, starts, scan.pairs, pairs};
}

/// Copies the tables of a scan's slots into table_bytes() of shared memory; the caller
/// synchronises.
inline __device__ SharedTables load_tables(const ScanDesc& scan, const TablePair* pairs,
                                           std::uint32_t* shared) {
  for (std::uint32_t slot = 0; slot < scan.pair_count; ++slot) {
    copy_quads(shared + slot * 2 * kTableEntries, pairs[scan.pairs[slot]].entries,
               sizeof TablePair::entries);
  }
  return {shared, load_long_codes(scan, pairs, shared + scan.pair_count * 2 * kTableEntries)};
}

/// Copies step tables into step_bytes() of shared memory; the caller synchronises.
inline __device__ SharedSteps load_steps(const ScanDesc& scan, const TablePair* pairs,
                                         Step* shared) {
  for (std::uint32_t slot = 0; slot < scan.pair_count; ++slot) {
    copy_quads(shared + slot * 2 * kStepEntries, pairs[scan.pairs[slot]].steps,
               sizeof TablePair::steps);
  }
  return {shared, load_long_codes(scan, pairs, shared + scan.pair_count * 2 * kStepEntries)};
}

/// Bits of a subsequence, 0 if it lies behind the scan's end.
inline __device__ std::uint32_t length_of(const DecodeView& batch, std::uint32_t subsequence) {
  return batch.lengths[subsequence] & ~kFirstOfSegment;
}
inline __device__ bool is_first(const DecodeView& batch, std::uint32_t subsequence) {
  return (batch.lengths[subsequence] & kFirstOfSegment) != 0;
}
/// Whether a subsequence is all of its segment. Then its start is known, and no other subsequence
/// needs its end.
inline __device__ bool is_lone(const DecodeView& batch, const ScanDesc& scan, std::uint32_t local) {
  const std::uint32_t s = scan.first_subsequence + local;
  return scan.has_restarts != 0 && is_first(batch, s) && length_of(batch, s) != 0 &&
         (local + 1 == scan.subsequence_slots || is_first(batch, s + 1) ||
          length_of(batch, s + 1) == 0);
}

}  // namespace framewire::codec::cuda
