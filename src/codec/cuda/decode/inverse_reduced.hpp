// Inverse transforms to corners of 1 to 6 samples a side, of which inverse_dct.hpp is the door.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>

namespace framewire::codec::cuda {

/// launch_inverse_dct() for all corners but 8.
void launch_inverse_reduced(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                            std::uint32_t corner, cudaStream_t stream);

}  // namespace framewire::codec::cuda
