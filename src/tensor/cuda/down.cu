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

__device__ float filter(const AxisWeights& axis, const float* middle, std::int32_t width,
                        std::int32_t x, std::int32_t y) {
  const std::int32_t count = axis.count[y];
  const std::int32_t out = axis.taps.taps.geometry.out_size;
  const float* from = middle + static_cast<std::int64_t>(axis.first[y]) * width + x;
  float sum = 0.f;
  for (std::int32_t k = 0; k < count; ++k) {
    sum += axis.weights[static_cast<std::int64_t>(k) * out + y] *
           from[static_cast<std::int64_t>(k) * width];
  }
  return sum;
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
  const ImageDesc& image = batch.images[blockIdx.y];
  const std::int64_t pixels = static_cast<std::int64_t>(batch.width_px) * batch.height_px;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kDownThreads + threadIdx.x;
  if (at >= pixels) return;
  const auto y = static_cast<std::int32_t>(at / batch.width_px);
  const auto x = static_cast<std::int32_t>(at - static_cast<std::int64_t>(y) * batch.width_px);
  const transform::PixelPosition from =
      transform::stored_position(image.orientation, {x, y}, image.width_px, image.height_px);
  float sums[3] = {};
  int samples[3] = {};
  for (int c = 0; c < image.channels; ++c) {
    const AxisWeights& axis = batch.axes[image.down[image.exact ? 0 : c]];
    sums[c] = filter(axis, image.middle[c], image.width_px, from.x, from.y);
    samples[c] = to_sample(sums[c]);
  }
  if (!image.exact && image.conversion == Conversion::kYcbcrToRgb) convert_once(sums, samples);
  const int* const sources = image.channels == 1 ? batch.gray_sources : batch.sources;
  const T* const tables = static_cast<const T*>(batch.tables);
  T* const out = static_cast<T*>(image.out);
  for (int c = 0; c < batch.channels; ++c) {
    const int source = sources[c];
    const int sample = source < 0 ? 128 : samples[source];
    const std::int64_t to =
        batch.layout == TensorLayout::kNchw ? c * pixels + at : at * batch.channels + c;
    out[to] = tables[c * 256 + sample];
  }
}

}  // namespace

void launch_down(const BatchDesc& batch, cudaStream_t stream) {
  const auto pixels =
      static_cast<std::uint64_t>(batch.width_px) * static_cast<std::uint64_t>(batch.height_px);
  const dim3 blocks(static_cast<unsigned>((pixels + kDownThreads - 1) / kDownThreads), batch.count);
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
