// Idea: the two passes of resample.cu with the rows between them in device memory. It is seldom
// used (nearest neighbour and extreme shapes; everything else is decoded smaller), so it is simple
// rather than fast.
#include <codec/cuda/tuning.h>
#include <codec/cuda/picture/resample_long.hpp>
#include <codec/cuda/picture/resample_math.hpp>
#include <gpu/launch.hpp>

namespace framewire::codec::cuda {
namespace {

__global__ void __launch_bounds__(kLongThreads)
    across_kernel(PictureView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  const Tile tile = tiles[blockIdx.x];
  const ResampleDesc& plane = batch.resamples[tile.owner];
  if (given_up(batch, plane.image)) return;
  const std::uint64_t index = std::uint64_t{tile.part} * kLongThreads + threadIdx.x;
  if (index >= std::uint64_t{plane.source_height_px} * plane.width_px) return;
  const std::uint64_t row = index / plane.width_px;
  const std::uint64_t x = index - row * plane.width_px;
  const AcrossDesc& filter = batch.across[plane.across];
  const std::uint32_t first = filter.first[x];
  const auto* from =
      reinterpret_cast<const std::uint32_t*>(plane.source + row * plane.source_pitch_bytes + first);
  const auto* weights = filter.weights + x * filter.run;
  std::int32_t high = 0;
  std::uint32_t low = 0;
  for (std::uint32_t k = 0; k < filter.run; ++k) {
    high = dot_signed(from[k], weights[k].x, high);
    low = __dp4a(from[k], weights[k].y, low);
  }
  plane.rows[index] = static_cast<float>(high * 256 + static_cast<std::int32_t>(low));
}

__global__ void __launch_bounds__(kLongThreads) down_kernel(PictureView batch, const Tile* tiles) {
  gpu::grid_dependency_sync();
  static_assert(kRowGroup == 4, "one float4 holds a source row's weights");
  const Tile tile = tiles[blockIdx.x];
  const ResampleDesc& plane = batch.resamples[tile.owner];
  if (given_up(batch, plane.image)) return;
  const std::uint32_t index = tile.part * kLongThreads + threadIdx.x;
  const std::uint32_t group = index / plane.width_px;
  const std::uint32_t x = index - group * plane.width_px;
  if (group * kRowGroup >= plane.height_px) return;
  const DownDesc& filter = batch.down[plane.down];
  const std::uint32_t first = filter.first[group];
  const auto* weights = filter.weights + static_cast<std::uint64_t>(group) * filter.rows.span;
  const auto* column = plane.rows + static_cast<std::uint64_t>(first) * plane.width_px + x;
  float sums[kRowGroup] = {0.5f, 0.5f, 0.5f, 0.5f};
  for (std::uint32_t k = 0; k < filter.rows.span; ++k) {
    const float sample = column[static_cast<std::uint64_t>(k) * plane.width_px];
    const float4 weight = weights[k];
    sums[0] = fmaf(weight.x, sample, sums[0]);
    sums[1] = fmaf(weight.y, sample, sums[1]);
    sums[2] = fmaf(weight.z, sample, sums[2]);
    sums[3] = fmaf(weight.w, sample, sums[3]);
  }
  for (std::uint32_t i = 0; i < kRowGroup && group * kRowGroup + i < plane.height_px; ++i) {
    plane.target[static_cast<std::uint64_t>(group * kRowGroup + i) * plane.target_pitch_bytes + x] =
        static_cast<std::uint8_t>(to_sample(sums[i]));
  }
}

}  // namespace

void launch_resample_long(const PictureView& batch, const Tile* across, std::uint32_t across_count,
                          const Tile* down, std::uint32_t down_count, cudaStream_t stream) {
  if (across_count == 0) return;
  gpu::launch(across_kernel, across_count, kLongThreads, 0, stream, batch, across);
  gpu::launch(down_kernel, down_count, kLongThreads, 0, stream, batch, down);
}

}  // namespace framewire::codec::cuda
