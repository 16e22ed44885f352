// The scans of progressive files, besides those that send DC first, which synchronise.hpp and
// coefficients.hpp decode like scans of sequential files whose blocks end behind DC.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/tile.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Each has the driver load the kernels of one of the files below.
void load_ac_chains();
void load_ac_words();
void load_progressive_levels();

/// Builds the lookup table of every AC scan.
/// @param codes   device, [scan_count]
void launch_build_ac_tables(const ProgressiveView& view, const CanonicalCode* codes,
                            std::uint32_t scan_count, cudaStream_t stream);

/// Removes what is not bits from the data of every AC scan.
void launch_ac_words(const ProgressiveView& view, std::uint32_t scan_count, cudaStream_t stream);

/// Finds where each block begins in AC scans, a lane each. Refinements follow the first scans of
/// their plane, whose bands do not overlap.
/// @param lanes      device
/// @param warps      device, [warp_count]: first scans before refinements
/// @param max_lanes  of one warp, at most 32
void launch_ac_chains(const ProgressiveView& view, const AcLane* lanes, const AcWarp* warps,
                      std::uint32_t warp_count, std::uint32_t max_lanes, cudaStream_t stream);

/// Decodes what AC scans send for each block, once launch_ac_chains() has found where that begins.
/// @param planes  device
/// @param tiles   device; part = index of kAcBlocksPerTile blocks of planes[owner]
void launch_ac_blocks(const ProgressiveView& view, const AcPlaneScans* planes, const Tile* tiles,
                      std::uint32_t tile_count, cudaStream_t stream);

/// Puts the sums of DC differences into the planes' order, and refines them.
void launch_progressive_dc(const ProgressiveView& view, std::uint32_t image_count,
                           cudaStream_t stream);

/// Turns levels from sign and magnitude into two's complement.
/// @param tiles  device; part = index of kLevelsPerTile levels of plane `owner`
void launch_assemble_levels(const ProgressiveView& view, const Tile* tiles,
                            std::uint32_t tile_count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
