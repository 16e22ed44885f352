// Launches kernels through the runtime's own function: plain C++, and errors have a place to go.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <gpu/dependent_launches.hpp>
#include <utility>

namespace framewire::gpu {

/// Enqueues a kernel, whose first statement must be grid_dependency_sync(). cudaGetLastError()
/// tells whether that worked.
/// @param shared_bytes  of dynamic shared memory, besides what the kernel declares
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute dependent{};
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &dependent;
  config.numAttrs = DependentLaunches::active() ? 1 : 0;
  (void)cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

/// Has the driver load a kernel now. By itself it does so with the first launch, for which it may
/// wait until everything that runs is over, and other threads' launches with it.
template <typename... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes unused{};
  if (cudaFuncGetAttributes(&unused, kernel) != cudaSuccess) (void)cudaGetLastError();
}

/// Lets a kernel be launched with up to `bytes` of dynamic shared memory; on devices that have
/// less, with all there is. Every call for one kernel must name the same bound, since other threads
/// launch it too.
template <typename... Parameters>
void allow_shared(void (*kernel)(Parameters...), std::size_t bytes) {
  constexpr auto kMaxSharedBytes = cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (cudaFuncSetAttribute(kernel, kMaxSharedBytes, static_cast<int>(bytes)) == cudaSuccess) return;
  (void)cudaGetLastError();
  int device = 0;
  int all = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaFuncAttributes own{};
  (void)cudaFuncGetAttributes(&own, kernel);
  (void)cudaFuncSetAttribute(kernel, kMaxSharedBytes, all - static_cast<int>(own.sharedSizeBytes));
}

#if defined(__CUDACC__)
/// Every kernel's first statement: lets the next kernel be set up, and waits until the kernels
/// before this one have ended and their writes can be read (CUDA's
/// cudaTriggerProgrammaticLaunchCompletion() and cudaGridDependencySynchronize()).
__device__ inline void grid_dependency_sync() {
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
inline void grid_dependency_sync() {}  // kernels run one after the other
#endif

}  // namespace framewire::gpu
