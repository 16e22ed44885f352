// Weights of resampling filters, made on the device.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/picture/descriptors.hpp>

namespace framewire::codec::cuda {

/// Fills `first` and `weights` of every filter of the batch.
/// @param across  device; part = index of kWeightThreads outputs of PictureView::across[owner]
/// @param down    device; part = index of kWeightThreads rows, whole groups, of
///                PictureView::down[owner]
/// @accuracy the bits that the same arithmetic gives on a CPU that rounds each product;
///           tests/gpu/filter_weights_test.cpp
void launch_filter_weights(const PictureView& batch, const Tile* across, std::uint32_t across_count,
                           const Tile* down, std::uint32_t down_count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
