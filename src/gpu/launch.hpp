// Launches kernels through the runtime's own function: plain C++, and errors have a place to go.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <cstdint>
#include <gpu/dependent_launches.hpp>
#include <gpu/graph_recording.hpp>
#include <tuple>
#include <utility>

namespace framewire::gpu {

#if defined(FRAMEWIRE_CUDA_EMULATION)
using cuda_emulation::add_kernel_node;
#else
/// cudaGraphAddKernelNode(), with the kernel's own parameters.
template <typename... Parameters, typename... Arguments>
cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                            std::size_t before_count, const cudaLaunchConfig_t& config,
                            void (*kernel)(Parameters...), Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return std::apply(
      [&](auto&... value) {
        void* pointers[] = {static_cast<void*>(&value)...};
        cudaKernelNodeParams launched{};
        launched.func = reinterpret_cast<void*>(kernel);
        launched.gridDim = config.gridDim;
        launched.blockDim = config.blockDim;
        launched.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
        launched.kernelParams = pointers;
        return cudaGraphAddKernelNode(node, graph, before, before_count, &launched);
      },
      values);
}
#endif

/// What is set for a kernel of a device once, since each setting takes the driver's lock.
enum class KernelSetting : std::uint8_t { kCarveout, kShared };
/// Whether the calling thread has remembered this for its current device.
[[nodiscard]] bool is_set(const void* kernel, KernelSetting setting) noexcept;
/// Once it has been set. What there is no room for is forgotten, and set again.
void remember(const void* kernel, KernelSetting setting) noexcept;

/// Part of a multiprocessor's first-level cache that is shared memory while a kernel runs, in
/// percent; the same for all. A kernel that wants another part cannot begin on a multiprocessor
/// before all blocks there have ended, and by itself the driver gives each kernel what holds most
/// of its blocks. Measured (one H100; images/s: 1920×1080 → 480×270 by an engine, decoding alone,
/// tensors of 1,024):
///   by itself  113,500  82,800  175,900
///   30          92,900  72,300
///   50         105,900  84,500
///   65         113,800  88,900
///   75                          190,300
///   80         116,100  88,900
///   100        107,000  84,300
inline constexpr int kSharedCarveout = 75;
template <typename... Parameters>
void set_carveout(void (*kernel)(Parameters...)) noexcept {
  const auto* const key = reinterpret_cast<const void*>(kernel);
  if (is_set(key, KernelSetting::kCarveout)) return;
  // A hint: a device that has no such choice goes on as it is.
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                           kSharedCarveout) == cudaSuccess) {
    remember(key, KernelSetting::kCarveout);
  } else {
    (void)cudaGetLastError();
  }
}

/// Enqueues a kernel, whose first statement must be grid_dependency_sync(), or adds it to the
/// calling thread's recording. cudaGetLastError() tells whether the former worked.
/// @param shared_bytes  of dynamic shared memory, besides what the kernel declares
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  set_carveout(kernel);
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
  if (GraphRecording* const recording = GraphRecording::active(); recording != nullptr) {
    recording->add(GraphRecording::NodeKind::kKernel,
                   [&](cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                       std::size_t before_count) {
                     return add_kernel_node(node, graph, before, before_count, config, kernel,
                                            std::forward<Arguments>(arguments)...);
                   });
    return;
  }
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
  const auto* const key = reinterpret_cast<const void*>(kernel);
  if (is_set(key, KernelSetting::kShared)) return;
  const auto allow = [kernel, key](int wanted) {
    constexpr auto kMaxSharedBytes = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const bool good = cudaFuncSetAttribute(kernel, kMaxSharedBytes, wanted) == cudaSuccess;
    if (good) remember(key, KernelSetting::kShared);
    return good;
  };
  if (allow(static_cast<int>(bytes))) return;
  (void)cudaGetLastError();
  int device = 0;
  int all = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaFuncAttributes own{};
  (void)cudaFuncGetAttributes(&own, kernel);
  (void)allow(all - static_cast<int>(own.sharedSizeBytes));
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
#elif defined(FRAMEWIRE_CUDA_EMULATION)
using cuda_emulation::dynamic_shared;
inline void grid_dependency_sync() {}  // kernels run one after the other
#endif

}  // namespace framewire::gpu
