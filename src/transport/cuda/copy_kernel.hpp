// Copies by a kernel: they begin sooner than the copy engine's, and the host learns that they are
// done by reading its own memory. A kernel may stay for further ones, which begin sooner still.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <transport/copier.hpp>

#ifndef FRAMEWIRE_KERNEL_COPY_BYTES
#define FRAMEWIRE_KERNEL_COPY_BYTES (8 << 20)
#endif
#ifndef FRAMEWIRE_LINGER_US
#define FRAMEWIRE_LINGER_US 100
#endif

#ifndef FRAMEWIRE_LINGER_BLOCKS
#define FRAMEWIRE_LINGER_BLOCKS 64
#endif

namespace framewire::transport::cuda {

/// Beyond it the copy engine is as quick, and leaves the multiprocessors to others.
inline constexpr std::uint64_t kMaxKernelBytes = FRAMEWIRE_KERNEL_COPY_BYTES;
/// Within one device: all parts of a payload that are put in place there. Copy engines would take
/// time from the device's own pushes.
inline constexpr std::uint64_t kMaxLocalBytes = std::uint64_t{16} << 20;

inline constexpr LingerPolicy kLingerPolicy{FRAMEWIRE_LINGER_US, 32 << 10};

// The emulation runs one block after the other, while no host runs: a kernel there takes what has
// been posted before it began, and leaves.
#if defined(FRAMEWIRE_CUDA_EMULATION)
inline constexpr unsigned kLingerBlocks = 1;
#else
inline constexpr unsigned kLingerBlocks = FRAMEWIRE_LINGER_BLOCKS;
#endif

/// Words in which a copy tells another device of its bytes: one a block, where a kernel stays.
[[nodiscard]] inline unsigned arrival_words(std::uint64_t bytes) {
  return bytes <= kLingerPolicy.narrow_bytes ? 1 : kLingerBlocks;
}

/// Whether the kernel is the way: not too much, and both sides at the same place in 16 bytes.
[[nodiscard]] inline bool kernel_takes(const void* to, const void* from, std::uint64_t bytes,
                                       std::uint64_t max_bytes = kMaxKernelBytes) {
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  return bytes <= max_bytes && apart % 16 == 0;
}

/// What a copy that kernel_takes() is told as.
[[nodiscard]] inline CopyCommand command_of(std::byte* to, const std::byte* from,
                                            std::uint64_t bytes) {
  CopyCommand command{};
  command.to = reinterpret_cast<std::uintptr_t>(to);
  command.from = reinterpret_cast<std::uintptr_t>(from);
  command.bytes = bytes;
  return command;
}

/// Enqueues a copy that kernel_takes(), whose sides the stream's device can touch. That device has
/// to be the current one. Whoever reads the copy's number in `h_done` finds the bytes in place, on
/// whatever device. One that stays takes the copies of the mailbox that follow.
[[nodiscard]] cudaError_t launch_copy(const CopyCommand& command, const Mailbox& box, Stay stay,
                                      cudaStream_t stream);

}  // namespace framewire::transport::cuda
