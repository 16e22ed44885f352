// Fifth stage: planes to smaller (or larger) planes.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/picture/descriptors.hpp>

namespace framewire::codec::cuda {

/// Runs both passes of a separable filter over every plane of the batch.
/// @param tiles  device; part = index of a tile of kTileWidth × ResampleDesc::tile_height
/// @param max_rows  source rows that a tile needs at most
/// @accuracy weights of 15 bits across, single precision down; one rounding, half up
void launch_resample(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                     std::uint32_t max_rows, cudaStream_t stream);

}  // namespace framewire::codec::cuda
