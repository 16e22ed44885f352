// Finds start states where threads are to spare: instead of estimating one state at the start of a
// subsequence and repairing it round by round, follows all candidate states at once and then
// chooses the true ones.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>

namespace framewire::codec::cuda {

/// Fills entries, exits and blocks of every subsequence. Where no candidate was the true state, an
/// entry differs from the exit before it, and launch_synchronise() repairs from there.
/// @param tiles  of kSpanThreads subsequences each, as for unstuffing
void launch_candidate_states(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                             const TablePair* pairs, std::uint32_t max_pairs, cudaStream_t stream);

}  // namespace framewire::codec::cuda
