// What the bytes of a scan are, for kernels in which one thread block walks through a scan.
#pragma once

#include <codec/cuda/tuning.h>
#include <cstdint>
#include <cub/block/block_scan.cuh>

namespace framewire::codec::cuda {

/// Bytes of bits, and restart markers, before a place in the data.
struct ByteCount {
  std::uint32_t bytes = 0;
  std::uint32_t markers = 0;
};
struct AddCounts {
  __device__ ByteCount operator()(const ByteCount& a, const ByteCount& b) const {
    return {a.bytes + b.bytes, a.markers + b.markers};
  }
};
using CountScan = cub::BlockScan<ByteCount, kImageThreads, cub::BLOCK_SCAN_WARP_SCANS>;

enum class ByteKind : std::uint8_t { kBits, kMarker, kNothing };

/// What the byte at `at` is. The second byte of a marker, and of stuffing, is nothing.
__device__ inline ByteKind kind_of(const std::uint8_t* data, std::uint32_t data_bytes,
                                   std::uint32_t at) {
  if (data[at] == 0xFF) {
    const bool stuffed = at + 1 < data_bytes && data[at + 1] == 0;
    return stuffed ? ByteKind::kBits : ByteKind::kMarker;
  }
  return at != 0 && data[at - 1] == 0xFF ? ByteKind::kNothing : ByteKind::kBits;
}

/// Whether the marker at `at` is the restart marker that follows `before` others.
__device__ inline bool is_restart(const std::uint8_t* data, std::uint32_t data_bytes,
                                  std::uint32_t at, std::uint32_t before) {
  return at + 1 < data_bytes && data[at + 1] == 0xD0 + before % 8;
}

/// What one thread's bytes are, from `at` on.
__device__ inline ByteCount count_bytes(const std::uint8_t* data, std::uint32_t data_bytes,
                                        std::uint32_t at) {
  ByteCount count;
  for (std::uint32_t i = at; i < at + kThreadBytes && i < data_bytes; ++i) {
    const ByteKind kind = kind_of(data, data_bytes, i);
    if (kind == ByteKind::kBits) ++count.bytes;
    if (kind == ByteKind::kMarker) ++count.markers;
  }
  return count;
}

}  // namespace framewire::codec::cuda
