// Every thread has several vectors of 16 bytes under way, all read before the first is written: a
// copy of a few KiB takes little more than one trip to memory and back. The last block to end
// writes the ticket; the blocks count themselves with a counter that wraps to zero, ready for the
// next copy of the stream.
//
// Fences: the barrier orders a block's writes before its first thread's fence, which is
// system-wide, as the target may be another device's memory and the reader is the host (PTX ISA,
// "Memory Consistency Model": causality is transitive over barriers and fences).
#include <cuda_runtime.h>
#include <algorithm>
#include "transport/cuda/copy_kernel.hpp"

#ifndef FRAMEWIRE_KERNEL_COPY_BLOCKS
#define FRAMEWIRE_KERNEL_COPY_BLOCKS 64
#endif

namespace framewire::transport::cuda {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kMostBlocks = FRAMEWIRE_KERNEL_COPY_BLOCKS;
constexpr std::uint64_t kBytesABlock = 16 << 10;
constexpr unsigned kUnderWay = 4;

__device__ void copy_vectors(uint4* to, const uint4* from, unsigned count) {
  const unsigned step = gridDim.x * kThreads;
  const unsigned first = blockIdx.x * kThreads + threadIdx.x;
  for (unsigned i = first; i < count; i += kUnderWay * step) {
    uint4 held[kUnderWay];
#pragma unroll
    for (unsigned k = 0; k < kUnderWay; ++k) {
      if (i + k * step < count) held[k] = from[i + k * step];
    }
#pragma unroll
    for (unsigned k = 0; k < kUnderWay; ++k) {
      if (i + k * step < count) to[i + k * step] = held[k];
    }
  }
}

__global__ void __launch_bounds__(kThreads) copy_and_tell(KernelCopy copy) {
  const auto ahead = (0 - reinterpret_cast<std::uintptr_t>(copy.to)) % 16;
  const std::uint64_t head = ahead < copy.bytes ? ahead : copy.bytes;
  const auto count = static_cast<unsigned>((copy.bytes - head) / 16);
  copy_vectors(reinterpret_cast<uint4*>(copy.to + head),
               reinterpret_cast<const uint4*>(copy.from + head), count);
  // What is left before and behind the vectors is less than 32 bytes.
  const std::uint64_t edges = copy.bytes - std::uint64_t{16} * count;
  if (blockIdx.x == 0 && threadIdx.x < edges) {
    const std::uint64_t at = threadIdx.x + (threadIdx.x < head ? 0 : std::uint64_t{16} * count);
    copy.to[at] = copy.from[at];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  const unsigned last = gridDim.x - 1;
  if (last != 0 && atomicInc(copy.signal.d_blocks, last) != last) return;
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(copy.signal.h_done) = copy.ticket;
}

}  // namespace

// By the runtime's own function, whose result is this launch's: cudaGetLastError() may tell of
// something earlier of the caller's.
cudaError_t launch_copy(const KernelCopy& copy, cudaStream_t stream) {
  const std::uint64_t wanted = (copy.bytes + kBytesABlock - 1) / kBytesABlock;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, kMostBlocks));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, copy_and_tell, copy);
}

}  // namespace framewire::transport::cuda
