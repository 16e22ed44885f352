// Streams under a bound on their bytes: quality is lowered on the device until they fit.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/encode/descriptors.hpp>

namespace framewire::codec::cuda {

/// Whether a stream under a bound is what it shall be, so that no kernel touches it again.
inline __device__ bool search_done(const EncodeView& batch, const EncodeDesc& stream) {
  return stream.search != 0 && batch.searches[stream.search - 1].done != 0;
}

/// Whether there is nothing to encode: that, or its picture is the CPU's.
inline __device__ bool idle(const EncodeView& batch, const EncodeDesc& stream) {
  return search_done(batch, stream) || given_up(batch, stream.image);
}

/// Looks at the sizes of the streams just finished, chooses what quality is tried next and writes
/// its quantisers. To be followed by another encoding of `count` streams, kSearchRounds times.
void launch_size_search(const EncodeView& batch, std::uint32_t count, cudaStream_t stream);

}  // namespace framewire::codec::cuda
