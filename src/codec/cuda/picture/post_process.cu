// Idea: outputs are small, so each kernel is a plain pass over memory. A picture that needs none of
// them has no tiles here. Turning reads columns; the first-level cache keeps their sectors until
// the tile's next row, so that going through shared memory would save nothing.
#include <codec/cuda/tuning.h>
#include <codec/cuda/picture/post_process.hpp>
#include <gpu/launch.hpp>
#include <transform/orient.hpp>
#include <transform/unsharp.hpp>

namespace framewire::codec::cuda {
namespace {

constexpr std::uint32_t kRows = kPostProcessThreads / kPostProcessTile;  // of a tile, at a time

__device__ std::uint8_t* sample_at(const SampleView& plane, std::uint32_t x, std::uint32_t y) {
  return plane.samples + static_cast<std::uint64_t>(y) * plane.pitch_bytes + x;
}

__device__ std::uint32_t clamp_to(std::int32_t at, std::uint32_t size) {
  return static_cast<std::uint32_t>(max(0, min(at, static_cast<std::int32_t>(size) - 1)));
}

/// Converts the pixels of one chroma sample. Where the sample reaches outside the picture, pixels
/// of the same cell are repeated, so that no two threads write one sample.
__device__ void convert_cell(const ConvertDesc& desc, std::uint32_t cell_x, std::uint32_t cell_y) {
  int sums[4] = {};
  for (std::uint32_t j = 0; j < desc.step_y; ++j) {
    for (std::uint32_t i = 0; i < desc.step_x; ++i) {
      const std::uint32_t x = clamp_to(
          static_cast<std::int32_t>(cell_x * desc.step_x + i) + desc.shift_x, desc.in[0].width_px);
      const std::uint32_t y = clamp_to(
          static_cast<std::int32_t>(cell_y * desc.step_y + j) + desc.shift_y, desc.in[0].height_px);
      int in[4] = {};
      int out[4] = {};
#pragma unroll
      for (std::uint32_t c = 0; c < 4; ++c) {
        if (c < desc.in_count) in[c] = *sample_at(desc.in[c], x, y);
      }
      convert_pixel(desc.how, desc.table, desc.samples, in, out);
      *sample_at(desc.out[0], x, y) = static_cast<std::uint8_t>(out[0]);
#pragma unroll
      for (std::uint32_t c = 1; c < 4; ++c) sums[c] += out[c];
    }
  }
  const auto area = static_cast<int>(desc.step_x * desc.step_y);
#pragma unroll
  for (std::uint32_t c = 1; c < 4; ++c) {
    if (c < desc.out_count) {
      *sample_at(desc.out[c], cell_x, cell_y) =
          static_cast<std::uint8_t>((sums[c] + area / 2) / area);
    }
  }
}

__global__ void __launch_bounds__(kPostProcessThreads)
    convert_kernel(PictureView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const ConvertDesc& desc = batch.converts[tile.owner];
  if (given_up(batch, desc.image)) return;
  const std::uint32_t row = tile.part / desc.tile_columns;
  const std::uint32_t x =
      (tile.part - row * desc.tile_columns) * kPostProcessTile + threadIdx.x % kPostProcessTile;
  if (x >= desc.cell_columns) return;
  for (std::uint32_t i = threadIdx.x / kPostProcessTile; i < kPostProcessTile; i += kRows) {
    const std::uint32_t y = row * kPostProcessTile + i;
    if (y < desc.cell_rows) convert_cell(desc, x, y);
  }
}

/// Blurs across the rows that a tile needs, repeating the edges, into shared memory.
__device__ void blur_across(const SharpenDesc& desc, std::uint32_t x, std::uint32_t top,
                            const float* weights, float* rows) {
  const auto radius = static_cast<std::int32_t>(desc.radius);
  for (std::uint32_t i = threadIdx.x / kPostProcessTile; i < kPostProcessTile + 2 * desc.radius;
       i += kRows) {
    const std::uint32_t y =
        clamp_to(static_cast<std::int32_t>(top + i) - radius, desc.source.height_px);
    const std::uint8_t* row = sample_at(desc.source, 0, y);
    float sum = 0.f;
    for (std::int32_t k = -radius; k <= radius; ++k) {
      sum = fmaf(
          weights[k + radius],
          static_cast<float>(row[clamp_to(static_cast<std::int32_t>(x) + k, desc.source.width_px)]),
          sum);
    }
    rows[i * kPostProcessTile + threadIdx.x % kPostProcessTile] = sum;
  }
}

__global__ void __launch_bounds__(kPostProcessThreads)
    sharpen_kernel(PictureView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  auto* rows = gpu::dynamic_shared<float>();  // [kPostProcessTile + 2 radius][kPostProcessTile]
  const Tile tile = tiles[blockIdx.x];
  const SharpenDesc& desc = batch.sharpens[tile.owner];
  if (given_up(batch, desc.image)) return;
  const float* weights = desc.weights;
  const std::uint32_t tile_row = tile.part / desc.tile_columns;
  const std::uint32_t lane = threadIdx.x % kPostProcessTile;
  const std::uint32_t x = (tile.part - tile_row * desc.tile_columns) * kPostProcessTile + lane;
  const std::uint32_t top = tile_row * kPostProcessTile;
  blur_across(desc, x, top, weights, rows);
  __syncthreads();
  if (x >= desc.source.width_px) return;
  for (std::uint32_t i = threadIdx.x / kPostProcessTile; i < kPostProcessTile; i += kRows) {
    if (top + i >= desc.source.height_px) return;
    float blurred = 0.f;
    for (std::uint32_t k = 0; k <= 2 * desc.radius; ++k) {
      blurred = fmaf(weights[k], rows[(i + k) * kPostProcessTile + lane], blurred);
    }
    const auto sample = static_cast<float>(*sample_at(desc.source, x, top + i));
    const float sharp = floorf(transform::unsharp<float>(sample, blurred) + 0.5f);
    *sample_at(desc.target, x, top + i) =
        static_cast<std::uint8_t>(fminf(fmaxf(sharp, 0.f), 255.f));
  }
}

__global__ void __launch_bounds__(kPostProcessThreads)
    place_kernel(PictureView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const PlaceDesc& desc = batch.places[tile.owner];
  if (given_up(batch, desc.image)) return;
  const std::uint32_t tile_row = tile.part / desc.tile_columns;
  const std::uint32_t x = (tile.part - tile_row * desc.tile_columns) * kPostProcessTile +
                          threadIdx.x % kPostProcessTile;
  if (x >= desc.target.width_px) return;
  for (std::uint32_t i = threadIdx.x / kPostProcessTile; i < kPostProcessTile; i += kRows) {
    const std::uint32_t y = tile_row * kPostProcessTile + i;
    if (y >= desc.target.height_px) return;
    std::uint32_t sample = desc.fill;
    // Left of and above the picture the differences wrap around to large numbers.
    if (x - desc.left < desc.width_px && y - desc.top < desc.height_px) {
      const transform::PixelPosition from = transform::stored_position(
          static_cast<int>(desc.orientation),
          {static_cast<std::int32_t>(x - desc.left), static_cast<std::int32_t>(y - desc.top)},
          static_cast<std::int32_t>(desc.source.width_px),
          static_cast<std::int32_t>(desc.source.height_px));
      sample = *sample_at(desc.source, static_cast<std::uint32_t>(from.x),
                          static_cast<std::uint32_t>(from.y));
    }
    *sample_at(desc.target, x, y) = static_cast<std::uint8_t>(sample);
  }
}

}  // namespace

void launch_convert(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                    cudaStream_t stream) {
  if (tile_count != 0) {
    gpu::launch(convert_kernel, tile_count, kPostProcessThreads, 0, stream, batch, tiles);
  }
}

void launch_sharpen(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                    std::uint32_t max_radius, cudaStream_t stream) {
  const std::size_t bytes = (kPostProcessTile + 2 * max_radius) * kPostProcessTile * sizeof(float);
  if (tile_count != 0) {
    gpu::launch(sharpen_kernel, tile_count, kPostProcessThreads, bytes, stream, batch, tiles);
  }
}

void launch_place(const PictureView& batch, const Tile* tiles, std::uint32_t tile_count,
                  cudaStream_t stream) {
  if (tile_count != 0) {
    gpu::launch(place_kernel, tile_count, kPostProcessThreads, 0, stream, batch, tiles);
  }
}

}  // namespace framewire::codec::cuda
