// Idea: a row of thread blocks for each plane, 16 bytes a thread; in planes smaller than the
// largest some thread blocks find nothing to do.
//
// Tried and rejected: cudaMemcpy2DAsync for each plane, with a memset for the padding of its rows,
// cost the host 3 µs a call: for a picture of three planes as much as all the rest of the codec.
#include <codec/cuda/tuning.h>
#include <algorithm>
#include <codec/cuda/picture/copy_rows.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kQuadBytes = 16;

/// A word of which only the first `bytes` bytes belong to the row; the others become zero.
__device__ std::uint32_t keep(std::uint32_t word, std::uint32_t bytes) {
  return bytes >= 4 ? word : word & ((1u << (8 * bytes)) - 1);
}

__device__ std::uint32_t left(std::uint32_t bytes, std::uint32_t used) {
  return bytes > used ? bytes - used : 0;
}

__global__ void __launch_bounds__(kCopyThreads) copy_rows_kernel(const RowCopy* copies) {
  gpu::grid_dependency_sync();
  const RowCopy copy = copies[blockIdx.x];
  const std::uint32_t across = copy.to_pitch_bytes / kQuadBytes;
  const std::uint32_t quads = across * copy.height_px;
  for (std::uint32_t i = blockIdx.y * kCopyThreads + threadIdx.x; i < quads;
       i += gridDim.y * kCopyThreads) {
    const std::uint32_t y = i / across;
    const std::uint32_t x = (i - y * across) * kQuadBytes;
    uint4 quad = make_uint4(0, 0, 0, 0);
    if (x < copy.width_px) {
      const std::uint64_t at = static_cast<std::uint64_t>(y) * copy.from_pitch_bytes + x;
      quad = *reinterpret_cast<const uint4*>(copy.from + at);
      const std::uint32_t bytes = copy.width_px - x;
      quad.x = keep(quad.x, bytes);
      quad.y = keep(quad.y, left(bytes, 4));
      quad.z = keep(quad.z, left(bytes, 8));
      quad.w = keep(quad.w, left(bytes, 12));
    }
    const std::uint64_t at = static_cast<std::uint64_t>(y) * copy.to_pitch_bytes + x;
    *reinterpret_cast<uint4*>(copy.to + at) = quad;
  }
}

}  // namespace

void launch_copy_rows(const RowCopy* copies, std::uint32_t count, std::uint32_t max_quads,
                      cudaStream_t stream) {
  if (count == 0 || max_quads == 0) return;
  const std::uint32_t blocks =
      std::min(kMaxCopyBlocks, (max_quads + kCopyThreads - 1) / kCopyThreads);
  gpu::launch(copy_rows_kernel, dim3(count, blocks), kCopyThreads, 0, stream, copies);
}

}  // namespace framewire::codec::cuda
