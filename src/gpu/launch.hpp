// Launches kernels through the runtime's own function: plain C++, and errors have a place to go.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <gpu/early_launches.hpp>
#include <utility>

namespace framewire::gpu {

/// Enqueues a kernel, which begins with await_earlier(); cudaGetLastError() tells whether that
/// worked.
/// @param shared_bytes  of dynamic shared memory, besides what the kernel declares
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = EarlyLaunches::now() ? 1 : 0;
  (void)cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

#if defined(__CUDACC__)
/// Every kernel's first statement: lets the next kernel be set up, and waits until those before
/// have ended and what they wrote can be read.
__device__ inline void await_earlier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The dynamic shared memory of the running block.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 framewire_dynamic_shared[];
  return reinterpret_cast<T*>(framewire_dynamic_shared);
}
#else
using cuda_emulation::dynamic_shared;
inline void await_earlier() {}  // kernels run one after the other
#endif

}  // namespace framewire::gpu
