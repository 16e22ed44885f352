// Which addresses are device memory, which pinned; the rest is pageable memory of the host.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>

namespace cuda_emulation {

inline constexpr int kHost = -1;
/// Of each device: 4 GiB, or what FRAMEWIRE_EMULATED_BYTES says now.
[[nodiscard]] std::size_t device_bytes();

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int device = kHost;  ///< kHost: pinned
  std::uint64_t id = 0;
  bool mapped = false;  ///< by cuMemMap: for `device` alone, and only while that is current
};

/// Makes an address range known. @return its number, which never comes again
std::uint64_t know(const void* begin, std::size_t bytes, int device, bool mapped = false);
void forget(const void* begin);
/// The allocation that an address lies in; `bytes` 0 where it lies in none.
[[nodiscard]] Allocation find(const void* address);

}  // namespace cuda_emulation
