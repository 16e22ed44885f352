// What kernels see of CUDA, for the emulation: a kernel is a function that runs once for each
// thread. Meaning after NVIDIA's CUDA C++ Programming Guide.
#pragma once

#include <cuda_runtime_api.h>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

// Blocks run one after the other on one thread of the host.
#define __shared__ static thread_local

inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace cuda_emulation {

/// The running thread's place.
struct Place {
  uint3 thread{};
  uint3 block{};
  dim3 block_size;
  dim3 grid_size;
};
extern thread_local const Place* here;

/// Waits until every thread of the block that has not ended has come here.
/// @return bit 0: some value was not zero; bit 1: all were; above: how many were
unsigned meet_block(bool value);
/// Waits until all lanes of `mask` that have not ended have come here.
/// @return the 32 lanes' values; 0 for lanes outside the mask
const std::uint64_t* meet_warp(unsigned mask, std::uint64_t value);
void* dynamic_memory();
[[nodiscard]] cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel,
                                 std::function<void()> body);
/// Adds to the graph what `enqueue_it` would enqueue.
[[nodiscard]] cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, std::size_t before_count,
                                   const std::function<cudaError_t()>& enqueue_it);
[[nodiscard]] cudaError_t allow_dynamic(const void* kernel, int bytes);

template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(dynamic_memory());
}

template <typename T>
T shuffle(unsigned mask, T value, unsigned from) {
  static_assert(std::is_arithmetic_v<T>, "say unsigned(threadIdx.x)");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = meet_warp(mask, bits)[from & 31];
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned lane() {
  const Place& at = *here;
  return (at.thread.x + at.block_size.x * (at.thread.y + at.block_size.y * at.thread.z)) & 31;
}

}  // namespace cuda_emulation

namespace cuda_emulation {

// What reads like a variable of kernels and is looked up at every use.
template <typename Vector, Vector Place::*kWhich, unsigned Vector::*kAxis>
struct Coordinate {
  operator unsigned() const { return here->*kWhich.*kAxis; }  // NOLINT(*-explicit-*)
};
template <typename Vector, Vector Place::*kWhich>
struct Coordinates {
  Coordinate<Vector, kWhich, &Vector::x> x;
  Coordinate<Vector, kWhich, &Vector::y> y;
  Coordinate<Vector, kWhich, &Vector::z> z;
};

}  // namespace cuda_emulation

inline constexpr ::cuda_emulation::Coordinates<uint3, &::cuda_emulation::Place::thread> threadIdx;
inline constexpr ::cuda_emulation::Coordinates<uint3, &::cuda_emulation::Place::block> blockIdx;
inline constexpr ::cuda_emulation::Coordinates<dim3, &::cuda_emulation::Place::block_size> blockDim;
inline constexpr ::cuda_emulation::Coordinates<dim3, &::cuda_emulation::Place::grid_size> gridDim;

inline void __syncthreads() { (void)::cuda_emulation::meet_block(false); }
inline int __syncthreads_or(int value) {
  return static_cast<int>(::cuda_emulation::meet_block(value != 0) & 1);
}
inline int __syncthreads_and(int value) {
  return static_cast<int>(::cuda_emulation::meet_block(value != 0) >> 1 & 1);
}
inline int __syncthreads_count(int value) {
  return static_cast<int>(::cuda_emulation::meet_block(value != 0) >> 2);
}
inline void __syncwarp(unsigned mask = ~0u) { (void)::cuda_emulation::meet_warp(mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int value) {
  const std::uint64_t* values = ::cuda_emulation::meet_warp(mask, value != 0 ? 1 : 0);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= static_cast<unsigned>(values[i]) << i;
  return bits;
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned group = ::cuda_emulation::lane() & ~(static_cast<unsigned>(width) - 1);
  return ::cuda_emulation::shuffle(
      mask, value, group | (static_cast<unsigned>(from) & (static_cast<unsigned>(width) - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return ::cuda_emulation::shuffle(mask, value,
                                   ::cuda_emulation::lane() ^ static_cast<unsigned>(bits));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  const unsigned own = ::cuda_emulation::lane();
  return ::cuda_emulation::shuffle(mask, value, own < by ? own : own - by);
}

template <typename T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
/// Counts up to `last` and begins again at zero.
inline unsigned atomicInc(unsigned* at, unsigned last) {
  unsigned seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &seen, seen >= last ? 0 : seen + 1, true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <typename T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  T seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < seen &&
         !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
template <typename T>
T __ldg(const T* at) {
  return *at;
}
inline int __popc(unsigned value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __ffs(int value) {
  return value == 0 ? 0 : 1 + std::countr_zero(static_cast<unsigned>(value));
}
inline float __fdividef(float a, float b) { return a / b; }
/// The sum, rounded down.
inline float __fadd_rd(float a, float b) {
  const double sum = static_cast<double>(a) + b;
  const auto near = static_cast<float>(sum);
  return near > sum ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}
inline float __saturatef(float value) { return value >= 0 ? value <= 1 ? value : 1 : 0; }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned value) { return std::bit_cast<float>(value); }
/// Four of the eight bytes of both words, the lowest first.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  unsigned bytes = 0;
  for (int i = 0; i < 4; ++i) {
    bytes |= static_cast<unsigned>(both >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  }
  return bytes;
}
/// Four products of bytes, the first factors' signs as the overload says, added to `sum`.
inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 32; i += 8) {
    sum += static_cast<std::int8_t>(a >> i & 0xFF) * static_cast<std::int8_t>(b >> i & 0xFF);
  }
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xFF) * (b >> i & 0xFF);
  return sum;
}

template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(a) : static_cast<T>(b);
}

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return ::cuda_emulation::launch(
      *config, reinterpret_cast<const void*>(kernel),
      [kernel, values = std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)] {
        std::apply(kernel, values);
      });
}
namespace cuda_emulation {

/// In place of cudaGraphAddKernelNode(), which does not know a kernel's parameters.
template <typename... Parameters, typename... Arguments>
cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                            std::size_t before_count, const cudaLaunchConfig_t& config,
                            void (*kernel)(Parameters...), Arguments&&... arguments) {
  return add_node(node, graph, before, before_count, [&] {
    return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
  });
}

}  // namespace cuda_emulation

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute which,
                                 int value) {
  if (which == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  return ::cuda_emulation::allow_dynamic(reinterpret_cast<const void*>(kernel), value);
}
/// Shared memory that kernels declare is ordinary memory here.
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*)(Parameters...)) {
  attributes->sharedSizeBytes = 0;
  return cudaSuccess;
}
