// Resampling for reductions whose source rows do not fit into a tile's shared memory.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/picture/descriptors.hpp>

namespace framewire::codec::cuda {

/// Both passes, through floats in device memory.
/// @param across  device; part = index of kLongThreads values of ResampleDesc::rows of `owner`
/// @param down    device; part = index of kLongThreads pairs of column and group of rows of `owner`
void launch_resample_long(const PictureView& batch, const Tile* across, std::uint32_t across_count,
                          const Tile* down, std::uint32_t down_count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
