// Streams under a bound on their bytes: quality is lowered on the device until they fit.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/encode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Whether a stream under a bound is final, so that no kernel touches it again.
inline __device__ bool search_done(const EncodeView& batch, const EncodeDesc& stream) {
  return stream.search != 0 && batch.searches[stream.search - 1].done != 0;
}

/// Whether a stream needs no encoding: it is final, or the CPU must take its picture.
inline __device__ bool nothing_to_encode(const EncodeView& batch, const EncodeDesc& stream) {
  return search_done(batch, stream) || given_up(batch, stream.image);
}

/// Looks at the sizes of the streams just finished, chooses the next quality of each and writes its
/// quantisers. The caller then encodes the `count` streams again; kSearchRounds times.
void launch_size_search(const EncodeView& batch, std::uint32_t count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
