// Launches kernels through the runtime's own function: plain C++, and errors have a place to go.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <utility>

namespace framewire::gpu {

/// Enqueues a kernel; cudaGetLastError() tells whether that worked.
/// @param shared_bytes  of dynamic shared memory, besides what the kernel declares
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  (void)cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

#if defined(__CUDACC__)
/// The dynamic shared memory of the running block.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 framewire_dynamic_shared[];
  return reinterpret_cast<T*>(framewire_dynamic_shared);
}
#else
using cuda_emulation::dynamic_shared;
#endif

}  // namespace framewire::gpu
