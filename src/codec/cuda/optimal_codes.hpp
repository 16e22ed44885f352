// Huffman codes made for each stream, between the forward transform and entropy coding.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/descriptors.hpp>

namespace framewire::codec::cuda {

/// Counts the symbols of streams that have OptimalCodes, makes their codes and DHT segments.
/// @param tiles   device; part = index of kBlocksPerTile output blocks of stream `owner`, whose
///                histograms are zero and become zero again
/// @param tables  device; part = 0 to 3, table of stream `owner`
/// @accuracy the same tables as jpeg::optimal_huffman_table(); tests/gpu/encode_test
void launch_optimal_codes(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                          const Tile* tables, std::uint32_t table_count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
