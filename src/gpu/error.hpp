// CUDA's error codes as Status values.
#pragma once

#include <cuda_runtime_api.h>
#include <framewire/status.hpp>

namespace framewire::gpu {

/// Nothing for cudaSuccess; busy where memory ran out; device_lost for everything else.
/// @param doing  what was tried, for the message: "allocating 64 bytes on device 0"
[[nodiscard]] Result<void> check(cudaError_t error, const char* doing);

}  // namespace framewire::gpu
