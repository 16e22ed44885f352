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

/// Fractions of a filtered sample.
constexpr int kSumBits = kWeightBits + kMiddleBits;

/// Rows of what lies between the passes, and the weights of one output sample for them.
struct FilteredRows {
  const AxisWeights& axis;
  std::int32_t width;
  transform::PixelPosition from;

  /// Calls add(weight, at) for each of them, `at` being the index of the column's pixel.
  template <typename Add>
  __device__ void for_each(Add add) const {
    const std::int32_t count = axis.count[from.y];
    const std::int32_t last = axis.taps.taps.geometry.in_size - 1;
    const uint2* quad = axis.quads + from.y;
    std::int32_t row = axis.first[from.y];
    for (std::int32_t k = 0; k < count; ++k, row += 4, quad += axis.taps.taps.geometry.out_size) {
      const uint2 four = *quad;
      const int weights[4] = {
          static_cast<std::int16_t>(four.x & 0xFFFF), static_cast<std::int32_t>(four.x) >> 16,
          static_cast<std::int16_t>(four.y & 0xFFFF), static_cast<std::int32_t>(four.y) >> 16};
      const auto add_rows = [&](auto row_of) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          add(weights[i],
              static_cast<std::size_t>(row_of(row + i)) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(from.x));
        }
      };
      if (row + 3 <= last) {
        add_rows([](std::int32_t at) { return at; });
      } else {
        add_rows([last](std::int32_t at) { return min(at, last); });  // behind it weights are 0
      }
    }
  }
};

__device__ void filter_pixels(const FilteredRows& rows, const MiddlePixel* middle,
                              std::int32_t* sums) {
  // The sum of products with whole words is that of the lower halves and, above 16 bits, that of
  // the upper ones. The former fits into 32 bits, so that taking away the latter leaves it.
  std::uint32_t both = 0;
  std::int32_t second = 0;
  std::int32_t third = 0;
  rows.for_each([&](int weight, std::size_t at) {
    const MiddlePixel pixel = middle[at];
    both += static_cast<std::uint32_t>(weight) * pixel.first_two;
    second += weight * (static_cast<std::int32_t>(pixel.first_two) >> 16);
    third += weight * pixel.third;
  });
  const std::uint32_t first = both - (static_cast<std::uint32_t>(second) << 16);
  sums[0] = static_cast<std::int32_t>(first) - (kLifted << kWeightBits);
  sums[1] = second;
  sums[2] = third;
}

template <int kChannels>
__device__ void filter_planes(const FilteredRows& rows, std::int16_t* const* middle,
                              std::int32_t* sums) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) sums[c] = 0;
  rows.for_each([&](int weight, std::size_t at) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sums[c] += weight * middle[c][at];
  });
}

/// The nearest level; halves go to the even one.
__device__ int to_sample(float value) {
  return static_cast<int>(rintf(fminf(fmaxf(value, 0.f), 255.f)));
}
__device__ int to_sample(std::int32_t sum) {
  const std::int32_t level = (sum + (1 << (kSumBits - 1)) - 1 + (sum >> kSumBits & 1)) >> kSumBits;
  return min(max(level, 0), 255);
}

__device__ float as_float(std::int32_t sum) {
  return static_cast<float>(sum) * (1.f / (1 << kSumBits));
}

__device__ void convert_once(const std::int32_t (&in)[3], int (&out)[3]) {
  const float luma = as_float(in[0]);
  const float cb = as_float(in[1]) - 128.f;
  const float cr = as_float(in[2]) - 128.f;
  out[0] = to_sample(fmaf(cr, 1.402f, luma));
  out[1] = to_sample(fmaf(-cb, 0.344136286f, fmaf(-cr, 0.714136286f, luma)));
  out[2] = to_sample(fmaf(cb, 1.772f, luma));
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
  std::int32_t sums[3] = {};
  int samples[3] = {};
  const auto rows = [&](int channel) {
    return FilteredRows{batch.axes[image.down[channel]], image.width_px, from};
  };
  if (image.exact && image.channels == 3) {
    filter_pixels(rows(0), image.middle_pixels, sums);
  } else if (image.channels == 3 && image.down[1] == image.down[2]) {
    filter_planes<1>(rows(0), image.middle, sums);
    filter_planes<2>(rows(1), image.middle + 1, sums + 1);
  } else {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c >= image.channels) break;
      filter_planes<1>(rows(image.exact ? 0 : c), image.middle + c, sums + c);
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
