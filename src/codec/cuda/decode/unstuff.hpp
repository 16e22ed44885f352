// First stage: file bytes to columns of unstuffed words, and where segments and scans end.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <span>

namespace framewire::codec::cuda {

/// Finds the restart markers of every scan that has them: segment_start, segment_first, scan_end.
/// Scans without restart intervals are left alone.
/// @param max_tiles  largest number of tiles of kMarkerTileBytes of a scan that has restart
///                    intervals
void launch_find_markers(const DecodeView& batch, std::uint32_t max_tiles, cudaStream_t stream);

/// Fills columns, lengths and segment_of, and lowers scan_end to the first marker met.
/// @param tiles  device; part = index of a block of kSpanThreads subsequences of scan `owner`
void launch_unstuff(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream);

}  // namespace framewire::codec::cuda
