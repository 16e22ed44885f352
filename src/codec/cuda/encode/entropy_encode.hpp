// Kernels from levels to entropy-coded bits.
#pragma once

#include <cuda_runtime_api.h>
#include <base/host_device.hpp>
#include <codec/cuda/encode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Which streams are encoded: all of a batch; or, once more, those under a bound on their bytes.
struct EncodeWork {
  const Tile* tiles = nullptr;  ///< device; part = index of kBlocksPerTile blocks
  std::uint32_t tile_count = 0;
  const Tile* optimal_tiles = nullptr;  ///< device; those tiles whose streams have OptimalCodes
  std::uint32_t optimal_tile_count = 0;
  const Tile* tables = nullptr;  ///< device; of those streams, part = 0 to 3
  std::uint32_t table_count = 0;
  const std::uint32_t* streams = nullptr;  ///< device; null: every stream
  std::uint32_t stream_count = 0;
  std::uint32_t many_streams = 0;   ///< Tuning::many_scans
  std::uint32_t max_raw_bytes = 0;  ///< of the streams' capacities before stuffing
};

/// The stream that a thread block works on. @param streams  EncodeWork::streams
FW_HD inline std::uint32_t stream_index(const std::uint32_t* streams, std::uint32_t block) {
  return streams == nullptr ? block : streams[block];
}

/// Codes each block, lays out segments, moves the bits there; raw, before stuffing.
void launch_entropy_encode(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream);

}  // namespace framewire::codec::cuda
