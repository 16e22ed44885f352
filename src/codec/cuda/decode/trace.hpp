// The second stage where threads are to spare: instead of guessing one state at the start of a
// subsequence and repairing it round by round, all states that it may have are followed at once,
// and the true path is found by joining ends to beginnings.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>

namespace framewire::codec::cuda {

/// Fills entries, exits and blocks of every subsequence. Where no path was found they disagree;
/// launch_synchronise() then repairs from there.
/// @param tiles  of kSpanThreads subsequences each, as for unstuffing
void launch_trace(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                  const TablePair* pairs, std::uint32_t most_pairs, cudaStream_t stream);

}  // namespace framewire::codec::cuda
