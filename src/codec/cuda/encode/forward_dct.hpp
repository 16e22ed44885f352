// Sixth stage: planes to quantised levels.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/encode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Transforms and quantises every block of every stream: levels in zig-zag order, and masks.
/// Samples outside a plane repeat its edge.
/// @param tiles  device; part = index of kBlocksPerTile blocks, in scan order, of stream `owner`
void launch_forward_dct(const EncodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        cudaStream_t stream);

}  // namespace framewire::codec::cuda
