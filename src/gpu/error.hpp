// CUDA's error codes as Status values.
#pragma once

#include <cuda_runtime_api.h>
#include <framewire/status.hpp>

namespace framewire::gpu {

/// Nothing for cudaSuccess; busy where memory ran out; device_lost for everything else.
/// @param doing  what was tried, for the message: "allocating 64 bytes on device 0"
[[nodiscard]] Result<void> check(cudaError_t error, const char* doing);

/// The answer of cudaStreamQuery() and cudaEventQuery(): whether the work is over. That it is not
/// is no error, and does not stay behind as one.
[[nodiscard]] Result<bool> check_over(cudaError_t answer, const char* doing);

/// Forgets the errors of this thread's earlier calls, the program's own among them, before work
/// whose launches are checked by cudaGetLastError().
void forget_errors() noexcept;

}  // namespace framewire::gpu
