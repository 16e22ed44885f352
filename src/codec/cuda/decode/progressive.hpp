// The scans of progressive files, besides those that send DC first, which synchronise.hpp and
// coefficients.hpp decode like scans of sequential files whose blocks end behind DC.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <codec/cuda/tile.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Builds the lookup table of every AC scan.
/// @param codes   device, [scan_count]
void launch_build_ac_tables(const ProgressiveView& view, const CanonicalCode* codes,
                            std::uint32_t scan_count, cudaStream_t stream);

/// Decodes chains of first scans, or reads those of refinements, a lane each. Those of refinements
/// come behind all first scans, whose bands do not overlap.
/// @param lanes  chains a warp, 1 to 32
void launch_ac_chains(const ProgressiveView& view, const AcChain* chains, std::uint32_t chain_count,
                      bool refines, std::uint32_t lanes, cudaStream_t stream);

/// Blocks of one tile of launch_apply_refinements(), one thread each.
inline constexpr std::uint32_t kRefinedBlocksPerTile = 256;

/// Does to the levels what chains of refinements have recorded.
/// @param tiles  device; part = index of kRefinedBlocksPerTile blocks of chain `owner`
void launch_apply_refinements(const ProgressiveView& view, const AcChain* chains, const Tile* tiles,
                              std::uint32_t tile_count, cudaStream_t stream);

/// Puts the sums of DC differences into the planes' order, and refines them.
void launch_progressive_dc(const ProgressiveView& view, std::uint32_t image_count,
                           cudaStream_t stream);

/// Levels of one tile of launch_assemble_levels().
inline constexpr std::uint32_t kLevelsPerTile = 16384;

/// Turns levels from sign and magnitude into two's complement.
/// @param tiles  device; part = index of kLevelsPerTile levels of plane `owner`
void launch_assemble_levels(const ProgressiveView& view, const Tile* tiles,
                            std::uint32_t tile_count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
