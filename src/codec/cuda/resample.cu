// Idea: one thread block a tile of the target. Across, four samples a step: 16-bit weights are
// split into a signed high and an unsigned low byte for the byte dot product, runs are rounded out
// to whole words. The rows stay in shared memory as floats for the pass down.
#include <codec/cuda/tuning.h>
#include <codec/cuda/resample.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kRowStep = kResampleThreads / kTileWidth;

__device__ std::int32_t dot_signed(std::uint32_t samples, std::uint32_t weights, std::int32_t sum) {
  std::int32_t result = 0;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(samples), "r"(weights), "r"(sum));
  return result;
}

/// Filters the rows that a tile needs into shared memory, one column a thread.
template <int kWords>
__device__ void filter_across(const std::uint8_t* source, std::uint32_t pitch, std::uint32_t rows,
                              const uint2* weights, std::uint32_t words, float* column) {
  uint2 w[kWords > 0 ? kWords : 1];
  if constexpr (kWords > 0) {
#pragma unroll
    for (int k = 0; k < kWords; ++k) w[k] = weights[k];
  }
  for (std::uint32_t row = threadIdx.x / kTileWidth; row < rows; row += kRowStep) {
    const auto* from =
        reinterpret_cast<const std::uint32_t*>(source + static_cast<std::uint64_t>(row) * pitch);
    std::int32_t high = 0;
    std::uint32_t low = 0;
    if constexpr (kWords > 0) {
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        const std::uint32_t samples = __ldg(from + k);
        high = dot_signed(samples, w[k].x, high);
        low = __dp4a(samples, w[k].y, low);
      }
    } else {
      for (std::uint32_t k = 0; k < words; ++k) {
        const std::uint32_t samples = __ldg(from + k);
        const uint2 weight = weights[k];
        high = dot_signed(samples, weight.x, high);
        low = __dp4a(samples, weight.y, low);
      }
    }
    column[row * kTileWidth] = static_cast<float>(high * 256 + static_cast<std::int32_t>(low));
  }
}

__global__ void __launch_bounds__(kResampleThreads)
    resample_kernel(BatchView batch, const Tile* tiles) {
  extern __shared__ float rows[];
  const Tile tile = tiles[blockIdx.x];
  const ResampleDesc& plane = batch.resamples[tile.owner];
  const FilterDesc& across = batch.filters[plane.x_filter];
  const FilterDesc& down = batch.filters[plane.y_filter];
  const std::uint32_t tile_x = tile.part % plane.tile_columns * kTileWidth;
  const std::uint32_t tile_y = tile.part / plane.tile_columns * plane.tile_height;
  const std::uint32_t height = min(plane.tile_height, plane.height_px - tile_y);
  const auto* first_y = reinterpret_cast<const std::uint32_t*>(batch.base + down.first) + tile_y;
  const std::uint32_t row0 = first_y[0];
  const std::uint32_t row_count = first_y[height - 1] + down.taps - row0;

  const std::uint32_t local_x = threadIdx.x % kTileWidth;
  const std::uint32_t x = tile_x + local_x;
  if (x < plane.width_px) {
    const std::uint32_t first_x =
        reinterpret_cast<const std::uint32_t*>(batch.base + across.first)[x];
    const std::uint8_t* source = batch.base + plane.source +
                                 static_cast<std::uint64_t>(row0) * plane.source_pitch_bytes +
                                 first_x;
    const auto* weights = reinterpret_cast<const uint2*>(batch.base + across.weights) +
                          static_cast<std::uint64_t>(x) * across.taps;
    if (across.taps == 4) {
      filter_across<4>(source, plane.source_pitch_bytes, row_count, weights, 4, rows + local_x);
    } else {
      filter_across<0>(source, plane.source_pitch_bytes, row_count, weights, across.taps,
                       rows + local_x);
    }
  }
  __syncthreads();
  if (x >= plane.width_px) return;
  const auto* weights = reinterpret_cast<const float*>(batch.base + down.weights) +
                        static_cast<std::uint64_t>(tile_y) * down.taps;
  std::uint8_t* target =
      batch.base + plane.target + static_cast<std::uint64_t>(tile_y) * plane.target_pitch_bytes + x;
  for (std::uint32_t y = threadIdx.x / kTileWidth; y < height; y += kRowStep) {
    const float* column = rows + (first_y[y] - row0) * kTileWidth + local_x;
    const float* w = weights + y * down.taps;
    float sum = 0.5f;
    for (std::uint32_t k = 0; k < down.taps; ++k) sum = fmaf(w[k], column[k * kTileWidth], sum);
    target[static_cast<std::uint64_t>(y) * plane.target_pitch_bytes] =
        static_cast<std::uint8_t>(sum <= 0.f     ? 0.f
                                  : sum >= 255.f ? 255.f
                                                 : sum);
  }
}

}  // namespace

void launch_resample(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                     std::uint32_t most_rows, cudaStream_t stream) {
  const std::size_t bytes = static_cast<std::size_t>(most_rows) * kTileWidth * sizeof(float);
  resample_kernel<<<tile_count, kResampleThreads, bytes, stream>>>(batch, tiles);
}

}  // namespace framewire::codec::cuda
