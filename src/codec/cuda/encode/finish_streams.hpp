// Last kernels: entropy-coded bits to finished byte streams on the host.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/encode/entropy_encode.hpp>

namespace framewire::codec::cuda {

/// Stuffs zeros and restart markers between header and EOI; records hold the whole stream's size.
void launch_stuff(const EncodeView& batch, const EncodeWork& work, cudaStream_t stream);

/// Packs all streams one behind the other, 16-byte aligned, into host memory, with a record for
/// each.
void launch_pack(const EncodeView& batch, cudaStream_t stream);

}  // namespace framewire::codec::cuda
