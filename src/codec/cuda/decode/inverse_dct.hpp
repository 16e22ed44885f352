// Fourth stage: coefficients to planes of samples.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Dequantises and inverse-transforms all blocks of the planes named by the tiles.
/// @param tiles   device; part = index of kBlocksPerTile blocks, row-major, of plane `owner`
/// @param corner  PlaneDesc::corner of all these planes
/// @accuracy |sample − reference| ≤ 1 for full size
void launch_inverse_dct(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        std::uint32_t corner, cudaStream_t stream);

/// Overwrites the blocks that the picture fills only in part, their padding first replaced by the
/// last valid samples (docs/decisions/0002).
/// @param tiles  device; part = index of kEdgesPerTile<> edge blocks of plane `owner`: the last
///               column from the top, then the last row from the left
/// @param wide   whether their corners are 5 or 6; false: 4 or less
void launch_inverse_edges(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                          bool wide, cudaStream_t stream);

}  // namespace framewire::codec::cuda
