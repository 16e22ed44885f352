// Device-side access to columns and tables, shared by the kernels of the entropy decoder.
#pragma once

#include <codec/cuda/tuning.h>
#include <codec/cuda/descriptors.hpp>
#include <codec/cuda/entry.hpp>
#include <codec/cuda/span_decoder.hpp>

namespace framewire::codec::cuda {

/// One column: the words of 32 neighbouring subsequences are interleaved, so that a warp in which
/// each lane reads its own column reads whole cache lines.
struct ColumnWords {
  const std::uint32_t* words;
  __device__ std::uint32_t operator[](std::uint32_t index) const { return words[index * 32]; }
};

inline __device__ std::uint64_t column_offset(std::uint32_t subsequence) {
  return static_cast<std::uint64_t>(subsequence >> 5) * (kColumnWords * 32) + (subsequence & 31);
}
inline __device__ ColumnWords column_of(const BatchView& batch, std::uint32_t subsequence) {
  return {batch.columns + column_offset(subsequence)};
}

/// Tables of one scan in shared memory: entries of all slots, then the codes for the slow path.
struct SharedTables {
  const std::uint32_t* entries;
  const std::uint32_t* pairs;
  const TablePair* all;
  __device__ std::uint32_t entry(std::uint32_t table, std::uint32_t index) const {
    return entries[table << kTableBits | index];
  }
  __device__ std::uint32_t slow(std::uint32_t table, std::uint32_t window) const {
    return long_entry(all[pairs[table >> 1]].code[table & 1], (table & 1) == 0, window);
  }
};

/// Copies the entries of a scan's slots into shared memory; the caller synchronises.
inline __device__ SharedTables load_tables(const ScanDesc& scan, const TablePair* pairs,
                                           std::uint32_t* shared) {
  for (std::uint32_t slot = 0; slot < scan.pair_count; ++slot) {
    const auto* from = reinterpret_cast<const uint4*>(&pairs[scan.pairs[slot]].entries[0][0]);
    auto* to = reinterpret_cast<uint4*>(shared + slot * 2 * kTableEntries);
    for (std::uint32_t i = threadIdx.x; i < 2 * kTableEntries / 4; i += blockDim.x) to[i] = from[i];
  }
  return {shared, scan.pairs, pairs};
}

/// Bytes of shared memory for the tables of `pair_count` slots.
inline std::uint32_t table_bytes(std::uint32_t pair_count) {
  return pair_count * 2 * kTableEntries * 4;
}

/// Bits of a subsequence, 0 if it lies behind the scan's end.
inline __device__ std::uint32_t length_of(const BatchView& batch, std::uint32_t subsequence) {
  return batch.lengths[subsequence] & ~kFirstOfSegment;
}
inline __device__ bool is_first(const BatchView& batch, std::uint32_t subsequence) {
  return (batch.lengths[subsequence] & kFirstOfSegment) != 0;
}

}  // namespace framewire::codec::cuda
