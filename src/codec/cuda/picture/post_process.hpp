// Stages between resampling and the forward transform, for those pictures that ask for them.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/picture/descriptors.hpp>

namespace framewire::codec::cuda {

/// Converts each pixel and averages chroma over the pixels that a sample covers; beyond the picture
/// its edge repeats.
/// @param tiles  device; part = tile of kPostProcessTile × kPostProcessTile chroma samples of
/// `owner`
/// @accuracy planes equal codec/turbo's but for what color/pixel_table.hpp and rounding differ
void launch_convert(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream);

/// Unsharp mask as transform/sharpen.hpp, in single precision.
/// @param tiles  device; part = tile of kPostProcessTile × kPostProcessTile samples of `owner`
void launch_sharpen(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                    std::uint32_t max_radius, cudaStream_t stream);

/// Turns planes as displayed and fills what lies around them.
/// @param tiles  device; part = tile of kPostProcessTile × kPostProcessTile target samples of
/// `owner`
void launch_place(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                  cudaStream_t stream);

}  // namespace framewire::codec::cuda
