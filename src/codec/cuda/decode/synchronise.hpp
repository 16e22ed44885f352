// Second stage: the true state at the start of every subsequence, and how many blocks it completes.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>

namespace framewire::codec::cuda {

/// Builds the lookup entries of each pair of codes, one thread block a pair.
/// @param codes  device, [pairs][2] DC, AC
void launch_build_tables(const CanonicalCode* codes, TablePair* pairs, std::uint32_t pair_count,
                         cudaStream_t stream);

/// Estimates each subsequence's start, then repairs within thread blocks: fills entries, exits,
/// blocks.
/// @param max_pairs  largest ScanDesc::pair_count of the batch
void launch_synchronise(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                        const TablePair* pairs, std::uint32_t max_pairs, cudaStream_t stream);

/// Repairs where thread blocks of launch_synchronise() meet.
void launch_repair_chains(const DecodeView& batch, const TablePair* pairs, std::uint32_t max_pairs,
                          cudaStream_t stream);

/// Checks that all states agree, and turns block counts into first blocks; sets status bits.
/// @param tiles  of kSpanThreads subsequences each, as for unstuffing
void launch_offsets(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream);

}  // namespace framewire::codec::cuda
