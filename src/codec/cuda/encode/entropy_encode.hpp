// Last kernels: levels to finished byte streams.
#pragma once

#include <cuda_runtime_api.h>
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

/// Counts each block's bits, lays out segments, writes the bits; raw, before stuffing.
void launch_entropy_encode(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream);

/// Stuffs zeros and restart markers between header and EOI; records hold the whole stream's size.
void launch_stuff(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream);

/// Packs all streams one behind the other, 16-byte aligned, into host memory, with a record for
/// each.
void launch_pack(const EncodeView& batch, cudaStream_t stream);

}  // namespace framewire::codec::cuda
