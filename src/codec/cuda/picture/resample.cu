// Idea: one thread block a tile of the target, both passes in it. The pass along rows takes four
// samples a step: 16-bit weights are split into a signed high and an unsigned low byte for the byte
// dot product, and runs are rounded out to whole words. Its results stay in shared memory as floats
// for the pass along columns.
#include <codec/cuda/tuning.h>
#include <codec/cuda/picture/resample.hpp>
#include <codec/cuda/picture/resample_math.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kRowStep = kResampleThreads / kTileWidth;

/// Filters the source rows that a tile needs into shared memory, one column a thread.
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

__device__ TilePlace place_tile(const ResampleDesc& plane, const DownDesc& down,
                                std::uint32_t part) {
  TilePlace place{};
  const std::uint32_t row = part / plane.tile_columns;
  place.x = (part - row * plane.tile_columns) * kTileWidth;
  place.y = row * plane.tile_height;
  place.height = min(plane.tile_height, plane.height_px - place.y);
  place.first_row = down.first[place.y / kRowGroup];
  const std::uint32_t last = (place.y + place.height - 1) / kRowGroup;
  place.row_count = down.first[last] + down.rows.span - place.first_row;
  return place;
}

__device__ void filter_tile_across(const PictureView& batch, const ResampleDesc& plane,
                                   const TilePlace& place, float* rows) {
  const AcrossDesc& across = batch.across[plane.across];
  const std::uint32_t local_x = threadIdx.x % kTileWidth;
  const std::uint32_t x = place.x + local_x;
  if (x >= plane.width_px) return;
  const std::uint32_t first_x = across.first[x];
  const std::uint8_t* source =
      plane.source + static_cast<std::uint64_t>(place.first_row) * plane.source_pitch_bytes +
      first_x;
  const uint2* weights = across.weights + static_cast<std::uint64_t>(x) * across.run;
  const std::uint32_t pitch = plane.source_pitch_bytes;
  float* column = rows + local_x;
  // A reduction behind a scaled decode has at most seven words a run, and mostly four to seven.
  switch (across.run) {
    case 4:
      return filter_across<4>(source, pitch, place.row_count, weights, 4, column);
    case 5:
      return filter_across<5>(source, pitch, place.row_count, weights, 5, column);
    case 6:
      return filter_across<6>(source, pitch, place.row_count, weights, 6, column);
    case 7:
      return filter_across<7>(source, pitch, place.row_count, weights, 7, column);
    default:
      return filter_across<0>(source, pitch, place.row_count, weights, across.run, column);
  }
}

/// Each thread makes two neighbouring columns of kRowGroup rows: weights are read once for both
/// columns, and samples once for all rows.
__device__ void filter_tile_down(const ResampleDesc& plane, const DownDesc& down,
                                 const TilePlace& place, const float4* weights, const float* rows) {
  static_assert(kRowGroup == 4, "one float4 holds a source row's weights");
  constexpr std::uint32_t kPairs = kTileWidth / 2;
  const std::uint32_t local_x = threadIdx.x % kPairs * 2;
  const std::uint32_t x = place.x + local_x;
  if (x >= plane.width_px) return;
  std::uint8_t* target = plane.target + x;
  const std::uint32_t first_group = place.y / kRowGroup;
  for (std::uint32_t g = threadIdx.x / kPairs; g * kRowGroup < place.height;
       g += kResampleThreads / kPairs) {
    const std::uint32_t row = down.first[first_group + g] - place.first_row;
    const auto* column = reinterpret_cast<const float2*>(rows + row * kTileWidth + local_x);
    const float4* w = weights + g * down.rows.span;
    float left[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    float right[4] = {0.5f, 0.5f, 0.5f, 0.5f};
#pragma unroll 2
    for (std::uint32_t k = 0; k < down.rows.span; ++k) {
      const float2 sample = column[k * kPairs];
      const float4 weight = w[k];
      left[0] = fmaf(weight.x, sample.x, left[0]), right[0] = fmaf(weight.x, sample.y, right[0]);
      left[1] = fmaf(weight.y, sample.x, left[1]), right[1] = fmaf(weight.y, sample.y, right[1]);
      left[2] = fmaf(weight.z, sample.x, left[2]), right[2] = fmaf(weight.z, sample.y, right[2]);
      left[3] = fmaf(weight.w, sample.x, left[3]), right[3] = fmaf(weight.w, sample.y, right[3]);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kRowGroup; ++i) {
      const std::uint32_t y = g * kRowGroup + i;
      if (y >= place.height) break;
      // If the width is odd, the second sample lies in the row's padding.
      *reinterpret_cast<std::uint16_t*>(target + static_cast<std::uint64_t>(place.y + y) *
                                                     plane.target_pitch_bytes) =
          static_cast<std::uint16_t>(to_sample(left[i]) | to_sample(right[i]) << 8);
    }
  }
}

__global__ void __launch_bounds__(kResampleThreads)
    resample_kernel(PictureView batch, const Tile* tiles, std::uint32_t max_rows) {
  gpu::grid_dependency_sync();
  auto* shared = gpu::dynamic_shared<float4>();
  const Tile tile = tiles[blockIdx.x];
  const ResampleDesc& plane = batch.resamples[tile.owner];
  if (given_up(batch, plane.image)) return;
  const DownDesc& down = batch.down[plane.down];
  const TilePlace place = place_tile(plane, down, tile.part);
  float4* weights = shared + max_rows * kTileWidth / 4;
  const std::uint32_t groups = (place.height + kRowGroup - 1) / kRowGroup;
  const float4* from =
      down.weights + static_cast<std::uint64_t>(place.y / kRowGroup) * down.rows.span;
  for (std::uint32_t i = threadIdx.x; i < groups * down.rows.span; i += kResampleThreads) {
    weights[i] = from[i];
  }
  auto* rows = reinterpret_cast<float*>(shared);
  filter_tile_across(batch, plane, place, rows);
  __syncthreads();
  filter_tile_down(plane, down, place, weights, rows);
}

}  // namespace

void launch_resample(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                     std::uint32_t max_rows, cudaStream_t stream) {
  if (tile_count == 0) return;
  // A tile has at most kTileHeight / kRowGroup groups, and each group at most max_rows float4.
  constexpr std::size_t kRowBytes = (kTileWidth + kTileHeight) * sizeof(float);
  gpu::allow_shared(resample_kernel, kTileSourceRows * kRowBytes);
  gpu::launch(resample_kernel, tile_count, kResampleThreads, max_rows * kRowBytes, stream, batch,
              tiles, max_rows);
}

}  // namespace framewire::codec::cuda
