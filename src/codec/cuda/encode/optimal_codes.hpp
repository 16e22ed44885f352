// Huffman codes made for each stream, between the forward transform and entropy coding.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/encode/entropy_encode.hpp>

namespace framewire::codec::cuda {

/// Counts the symbols of streams that have OptimalCodes, makes their codes and DHT segments.
/// @param work  histograms of its streams are zero and become zero again
/// @accuracy the same tables as jpeg::optimal_huffman_table(); tests/gpu/encode_test
void launch_optimal_codes(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream);

}  // namespace framewire::codec::cuda
