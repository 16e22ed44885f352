// Idea: a thread makes one pixel of the tensor: it filters the column that its channels come from,
// rounds to samples of 8 bits, as training frameworks do before they normalise, and looks their
// elements up in the CPU's own tables. Rows of the tensor are written one after the other; turned
// pictures are read across.
#include <gpu/launch.hpp>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/tuning.hpp>
#include <transform/orient.hpp>

namespace framewire::tensor::cuda {
namespace {

/// Filters kChannels columns with the weights of one output sample.
template <int kChannels>
__device__ void filter(const AxisWeights& axis, float* const* middle, std::int32_t width,
                       transform::PixelPosition from, float* sums) {
  const std::int32_t count = axis.count[from.y];
  const std::int32_t out = axis.taps.taps.geometry.out_size;
  const float* weight = axis.weights + from.y;
  std::size_t at = static_cast<std::size_t>(axis.first[from.y]) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(from.x);
#pragma unroll
  for (int c = 0; c < kChannels; ++c) sums[c] = 0.f;
  for (std::int32_t k = 0; k < count; ++k) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sums[c] += *weight * middle[c][at];
    weight += out;
    at += static_cast<std::size_t>(width);
  }
}

/// The nearest level; halves go to the even one.
__device__ int to_sample(float value) {
  return static_cast<int>(rintf(fminf(fmaxf(value, 0.f), 255.f)));
}

__device__ void convert_once(const float (&in)[3], int (&out)[3]) {
  const float cb = in[1] - 128.f;
  const float cr = in[2] - 128.f;
  out[0] = to_sample(fmaf(cr, 1.402f, in[0]));
  out[1] = to_sample(fmaf(-cb, 0.344136286f, fmaf(-cr, 0.714136286f, in[0])));
  out[2] = to_sample(fmaf(cb, 1.772f, in[0]));
}

template <typename T>
__global__ void __launch_bounds__(kDownThreads) down_kernel(BatchDesc batch) {
  gpu::grid_dependency_sync();
  const ImageDesc& image = batch.images[blockIdx.z];
  const auto x = static_cast<std::int32_t>(blockIdx.x * kDownColumns + threadIdx.x % kDownColumns);
  const auto y = static_cast<std::int32_t>(blockIdx.y * kDownRows + threadIdx.x / kDownColumns);
  if (x >= batch.width_px || y >= batch.height_px) return;
  const transform::PixelPosition from =
      transform::stored_position(image.orientation, {x, y}, image.width_px, image.height_px);
  float sums[3] = {};
  int samples[3] = {};
  if (image.exact && image.channels == 3) {
    filter<3>(batch.axes[image.down[0]], image.middle, image.width_px, from, sums);
  } else if (image.channels == 3 && image.down[1] == image.down[2]) {
    filter<1>(batch.axes[image.down[0]], image.middle, image.width_px, from, sums);
    filter<2>(batch.axes[image.down[1]], image.middle + 1, image.width_px, from, sums + 1);
  } else {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c >= image.channels) break;
      const AxisWeights& axis = batch.axes[image.down[image.exact ? 0 : c]];
      filter<1>(axis, image.middle + c, image.width_px, from, sums + c);
    }
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) samples[c] = to_sample(sums[c]);
  if (!image.exact && image.conversion == Conversion::kYcbcrToRgb) convert_once(sums, samples);
  const bool gray = image.channels == 1;
  const T* const tables = static_cast<const T*>(batch.tables);
  T* const out = static_cast<T*>(image.out);
  const std::size_t pixels =
      static_cast<std::size_t>(batch.width_px) * static_cast<std::size_t>(batch.height_px);
  const std::size_t at = static_cast<std::size_t>(y) * static_cast<std::size_t>(batch.width_px) +
                         static_cast<std::size_t>(x);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    if (c >= batch.channels) break;
    const int source = gray ? batch.gray_sources[c] : batch.sources[c];
    const int sample = source < 0    ? 128
                       : source == 0 ? samples[0]
                       : source == 1 ? samples[1]
                                     : samples[2];
    const auto channel = static_cast<std::size_t>(c);
    const std::size_t to = batch.layout == TensorLayout::kNchw
                               ? channel * pixels + at
                               : at * static_cast<std::size_t>(batch.channels) + channel;
    out[to] = tables[c * 256 + sample];
  }
}

}  // namespace

void launch_down(const BatchDesc& batch, cudaStream_t stream) {
  const auto tiles = [](std::int32_t size, unsigned tile) {
    return (static_cast<unsigned>(size) + tile - 1) / tile;
  };
  const dim3 blocks(tiles(batch.width_px, kDownColumns), tiles(batch.height_px, kDownRows),
                    batch.count);
  switch (batch.element_bytes) {
    case 1:
      return gpu::launch(down_kernel<std::uint8_t>, blocks, kDownThreads, 0, stream, batch);
    case 2:
      return gpu::launch(down_kernel<std::uint16_t>, blocks, kDownThreads, 0, stream, batch);
    default:
      return gpu::launch(down_kernel<std::uint32_t>, blocks, kDownThreads, 0, stream, batch);
  }
}

}  // namespace framewire::tensor::cuda
