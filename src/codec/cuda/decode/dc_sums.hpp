// DC values from the differences that scans hold.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/decode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Sums the DC differences of each component within each segment, in place.
/// @param max_tiles  largest number of tiles of kImageThreads × dc_run_blocks() that a scan has
void launch_sum_dc(const DecodeView& batch, std::uint32_t max_tiles, cudaStream_t stream);

}  // namespace framewire::codec::cuda
