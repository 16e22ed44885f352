// Device-side access to columns and tables, shared by the kernels of the entropy decoder.
#pragma once

#include <codec/cuda/tuning.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>
#include <codec/cuda/decode/span_decoder.hpp>

namespace framewire::codec::cuda {

/// A place in a column. Pairs of words of 32 neighbouring subsequences are interleaved, so that a
/// warp in which each lane reads its own column reads whole cache lines.
struct ColumnWords {
  const uint2* at;
  __device__ ColumnWords from_pair(std::uint32_t pair) const { return {at + pair * 32}; }
  __device__ WordPair take() {
    const uint2 pair = *at;
    at += 32;
    return {pair.x, pair.y};
  }
  /// As BitWindow wants it; in one piece, so that what is read ahead goes straight into its
  /// registers, and nobody waits for it before it is moved on.
  __device__ void slide(std::uint32_t changed, WindowWords& window) {
#if defined(__CUDA_ARCH__)
    asm volatile(
        "{\n\t"
        ".reg .pred word, pair;\n\t"
        ".reg .b32 bit;\n\t"
        "and.b32 bit, %5, %6;\n\t"
        "setp.ne.u32 word, bit, 0;\n\t"
        "and.b32 bit, %5, %7;\n\t"
        "setp.ne.u32 pair, bit, 0;\n\t"
        "shr.u32 bit, bit, %8;\n\t"
        "@word mov.b32 %0, %1;\n\t"
        "@word mov.b32 %1, %2;\n\t"
        "@word mov.b32 %2, %3;\n\t"
        "@pair ld.global.v2.u32 {%2, %3}, [%4];\n\t"
        "mad.wide.u32 %4, bit, 256, %4;\n\t"
        "}"
        : "+r"(window.high), "+r"(window.low), "+r"(window.ahead.first), "+r"(window.ahead.second),
          "+l"(at)
        : "r"(changed), "n"(kWordCrossed), "n"(kPairCrossed), "n"(kBitsShift + 6));
#else
    window.slide(changed, *this);
#endif
  }
};

inline __device__ uint2* column_of(const DecodeView& batch, std::uint32_t subsequence) {
  const std::uint32_t pairs = column_words(batch.layout.subsequence_bytes) / 2;
  return batch.columns + static_cast<std::uint64_t>(subsequence >> 5) * (pairs * 32) +
         (subsequence & 31);
}
inline __device__ ColumnWords words_of(const DecodeView& batch, std::uint32_t subsequence) {
  return {column_of(batch, subsequence)};
}

/// Codes that the lookup tables of one scan's slots do not hold: a table in shared memory, and for
/// the rest the canonical codes in global memory.
struct LongCodes {
  const std::uint16_t* longs;   ///< [slots × 2][kLongEntries]
  const std::uint32_t* starts;  ///< [slots × 2] long_start()
  const std::uint32_t* pairs;
  const TablePair* all;
  /// As describe() makes it.
  __device__ std::uint32_t find(std::uint32_t table, std::uint32_t window) const {
    const std::uint32_t index = (window >> 16) - starts[table];
    if (index < kLongEntries) return expand_long(longs[table * kLongEntries + index]);
    return walk_code(all[pairs[table >> 1]].code[table & 1], (table & 1) == 0, window);
  }
};

/// Tables of one scan's slots for finding where symbols begin.
struct SharedTables {
  const std::uint32_t* entries;  ///< shared, [slots × 2][kTableEntries]
  LongCodes long_codes;
  __device__ std::uint32_t entry(std::uint32_t table, std::uint32_t index) const {
    return entries[table << kTableBits | index];
  }
  __device__ std::uint32_t long_symbol(std::uint32_t table, std::uint32_t window) const {
    return long_codes.find(table, window);
  }
};

/// Tables of one scan's slots for reading values too.
struct SharedSteps {
  const Step* steps;  ///< shared, [slots × 2][kStepEntries]
  LongCodes long_codes;
  __device__ Step step(std::uint32_t table, std::uint32_t index) const {
    return steps[table << kStepBits | index];
  }
  __device__ std::uint32_t long_symbol(std::uint32_t table, std::uint32_t window) const {
    return long_codes.find(table, window);
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
