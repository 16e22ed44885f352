// A name for CUDA's streams without CUDA's headers.
#pragma once

namespace framewire {

/// A cudaStream_t. Null is the legacy default stream.
using CudaStream = void*;

}  // namespace framewire
