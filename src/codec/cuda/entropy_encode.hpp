// Last stage: levels to finished byte streams.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/descriptors.hpp>

namespace framewire::codec::cuda {

/// Counts each block's bits, lays out segments, writes the bits; raw, before stuffing.
void launch_entropy_encode(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                           cudaStream_t stream);

/// Stuffs zeros and restart markers between header and EOI, then packs the streams one behind the
/// other, 16-byte aligned, into host memory, with a record for each.
void launch_finish_streams(const BatchView& batch, cudaStream_t stream);

}  // namespace framewire::codec::cuda
