// Third stage: coefficients in scan order, DC values included.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>
#include <codec/cuda/decode/entry.hpp>

namespace framewire::codec::cuda {

/// Decodes every subsequence from its known start into coefficients and DC differences. Edge blocks
/// must be zero before.
/// @param reduced  true: the tiles' scans keep corners of 4, 2 or 1, false: whole blocks. Both are
///                 written completely
void launch_write_coefficients(const DecodeView& batch, const Tile* tiles, std::uint32_t tile_count,
                               bool reduced, const TablePair* pairs, std::uint32_t max_pairs,
                               cudaStream_t stream);

}  // namespace framewire::codec::cuda
