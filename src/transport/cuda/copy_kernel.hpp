// Copies by a kernel: they begin sooner than the copy engine's, and the host learns that they are
// done by reading its own memory.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>

#ifndef FRAMEWIRE_KERNEL_COPY_BYTES
#define FRAMEWIRE_KERNEL_COPY_BYTES (4 << 20)
#endif

namespace framewire::transport::cuda {

/// Beyond it the copy engine is as quick, and leaves the multiprocessors to others.
inline constexpr std::uint64_t kMostKernelBytes = FRAMEWIRE_KERNEL_COPY_BYTES;

/// How the copies of one stream tell the host that they are done.
struct Signal {
  std::uint64_t* h_done = nullptr;  ///< pinned, 8-byte aligned: the ticket of the last one done
  unsigned* d_blocks = nullptr;     ///< zero between copies
};

struct KernelCopy {
  std::byte* to = nullptr;  ///< each side is memory that the stream's device can touch
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  Signal signal;
  std::uint64_t ticket = 0;
};

/// Whether the kernel is the way: not too much, and both sides at the same place in 16 bytes.
[[nodiscard]] inline bool kernel_takes(const void* to, const void* from, std::uint64_t bytes) {
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  return bytes <= kMostKernelBytes && apart % 16 == 0;
}

/// Enqueues a copy that kernel_takes(). The stream's device has to be the current one. Whoever
/// reads the ticket in `h_done` finds the bytes in place, on whatever device.
[[nodiscard]] cudaError_t launch_copy(const KernelCopy& copy, cudaStream_t stream);

}  // namespace framewire::transport::cuda
