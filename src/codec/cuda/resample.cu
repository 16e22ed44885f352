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

/// Geometry of one tile, the same in all threads.
struct TilePlace {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t height;
  std::uint32_t first_row;  ///< of the source
  std::uint32_t row_count;
};

__device__ TilePlace place_tile(const ResampleDesc& plane, const FilterDesc& down,
                                const std::uint32_t* first_y, std::uint32_t part) {
  TilePlace place{};
  const std::uint32_t row = part / plane.tile_columns;
  place.x = (part - row * plane.tile_columns) * kTileWidth;
  place.y = row * plane.tile_height;
  place.height = min(plane.tile_height, plane.height_px - place.y);
  place.first_row = first_y[place.y];
  place.row_count = first_y[place.y + place.height - 1] + down.taps - place.first_row;
  return place;
}

__device__ void filter_tile_across(const BatchView& batch, const ResampleDesc& plane,
                                   const TilePlace& place, float* rows) {
  const FilterDesc& across = batch.filters[plane.x_filter];
  const std::uint32_t local_x = threadIdx.x % kTileWidth;
  const std::uint32_t x = place.x + local_x;
  if (x >= plane.width_px) return;
  const std::uint32_t first_x =
      reinterpret_cast<const std::uint32_t*>(batch.base + across.first)[x];
  const std::uint8_t* source =
      batch.base + plane.source +
      static_cast<std::uint64_t>(place.first_row) * plane.source_pitch_bytes + first_x;
  const auto* weights = reinterpret_cast<const uint2*>(batch.base + across.weights) +
                        static_cast<std::uint64_t>(x) * across.taps;
  const std::uint32_t pitch = plane.source_pitch_bytes;
  float* column = rows + local_x;
  if (across.taps == 4) {
    filter_across<4>(source, pitch, place.row_count, weights, 4, column);
  } else {
    filter_across<0>(source, pitch, place.row_count, weights, across.taps, column);
  }
}

__device__ std::uint32_t to_sample(float value) {
  return static_cast<std::uint32_t>(fminf(fmaxf(value, 0.f), 255.f));
}

/// Two neighbouring columns a thread, so that weights and indices are read once for both.
__device__ void filter_tile_down(const BatchView& batch, const ResampleDesc& plane,
                                 const FilterDesc& down, const TilePlace& place,
                                 const std::uint32_t* first_y, const float* weights,
                                 const float* rows) {
  constexpr std::uint32_t kPairs = kTileWidth / 2;
  const std::uint32_t local_x = threadIdx.x % kPairs * 2;
  const std::uint32_t x = place.x + local_x;
  if (x >= plane.width_px) return;
  std::uint8_t* target = batch.base + plane.target + x;
  for (std::uint32_t y = threadIdx.x / kPairs; y < place.height; y += kResampleThreads / kPairs) {
    const std::uint32_t row = first_y[place.y + y] - place.first_row;
    const auto* column = reinterpret_cast<const float2*>(rows + row * kTileWidth + local_x);
    const float* w = weights + y * down.taps;
    float2 sum = make_float2(0.5f, 0.5f);
#pragma unroll 4
    for (std::uint32_t k = 0; k < down.taps; ++k) {
      const float2 sample = column[k * kPairs];
      sum.x = fmaf(w[k], sample.x, sum.x);
      sum.y = fmaf(w[k], sample.y, sum.y);
    }
    // The second sample of an odd width falls into the row's padding.
    *reinterpret_cast<std::uint16_t*>(target + static_cast<std::uint64_t>(place.y + y) *
                                                   plane.target_pitch_bytes) =
        static_cast<std::uint16_t>(to_sample(sum.x) | to_sample(sum.y) << 8);
  }
}

__global__ void __launch_bounds__(kResampleThreads)
    resample_kernel(BatchView batch, const Tile* tiles, std::uint32_t most_rows) {
  extern __shared__ float shared[];
  const Tile tile = tiles[blockIdx.x];
  const ResampleDesc& plane = batch.resamples[tile.owner];
  const FilterDesc& down = batch.filters[plane.y_filter];
  const auto* first_y = reinterpret_cast<const std::uint32_t*>(batch.base + down.first);
  const TilePlace place = place_tile(plane, down, first_y, tile.part);
  float* weights = shared + most_rows * kTileWidth;
  const float* from = reinterpret_cast<const float*>(batch.base + down.weights) +
                      static_cast<std::uint64_t>(place.y) * down.taps;
  for (std::uint32_t i = threadIdx.x; i < place.height * down.taps; i += kResampleThreads)
    weights[i] = from[i];
  filter_tile_across(batch, plane, place, shared);
  __syncthreads();
  filter_tile_down(batch, plane, down, place, first_y, weights, shared);
}

}  // namespace

void launch_resample(const BatchView& batch, const Tile* tiles, std::uint32_t tile_count,
                     std::uint32_t most_rows, cudaStream_t stream) {
  // Each of at most kTileHeight rows of a tile has at most most_rows weights.
  const std::size_t floats = static_cast<std::size_t>(most_rows) * (kTileWidth + kTileHeight);
  const auto bytes = static_cast<int>(floats * sizeof(float));
  cudaFuncSetAttribute(resample_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  resample_kernel<<<tile_count, kResampleThreads, static_cast<std::size_t>(bytes), stream>>>(
      batch, tiles, most_rows);
}

}  // namespace framewire::codec::cuda
