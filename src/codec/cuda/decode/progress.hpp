// How thread blocks of one launch tell one another how far they are, through device memory.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Stores a number behind all that this thread has written.
FW_HD inline void store_release(std::uint32_t* at, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
#else
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
#endif
}

// What others write meanwhile, from the level of memory that all multiprocessors share. Acquiring
// would empty the first-level cache, which kernels of other streams use too. So who reads a number
// that was stored by store_release() reads what came before it with load_relaxed() as well, and not
// before the number has come and been used. PTX does not promise that this suffices; devices issue
// loads in order, and these pass by the first-level cache.
FW_HD inline std::uint32_t load_relaxed(const std::uint32_t* at) {
#if defined(__CUDA_ARCH__)
  std::uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
#else
  return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
}
FW_HD inline unsigned long long load_relaxed(const unsigned long long* at) {
#if defined(__CUDA_ARCH__)
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
#else
  return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
}

/// Sets bits in device memory where others may set some too. Nothing waits for that: of an address
/// that it does not know to be global the compiler makes an atomic whose answer is awaited.
FW_HD inline void add_bits(unsigned long long* at, unsigned long long bits) {
#if defined(__CUDA_ARCH__)
  asm volatile("red.relaxed.gpu.global.or.b64 [%0], %1;" ::"l"(at), "l"(bits) : "memory");
#else
  __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
#endif
}

}  // namespace framewire::codec::cuda
