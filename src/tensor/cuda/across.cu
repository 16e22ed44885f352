// Idea: a block takes a few rows of an image and some of its output columns. Of the pixels that
// these are made of it first makes RGB in shared memory, each once: chroma upsampled by libjpeg's
// triangle, colours converted and clipped, as decoders for the CPU do before anything is resized.
// Then each thread filters one output column of all its rows, so that a weight is read once for
// them. Images filtered as they are stored (TensorFidelity::kFast) skip the first half: a block
// then takes one component.
#include <gpu/launch.hpp>
#include <tensor/cuda/color_pixel.hpp>
#include <tensor/cuda/kernels.hpp>

namespace framewire::tensor::cuda {
namespace {

__device__ std::int32_t clamp_to(std::int32_t at, std::int32_t size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

__device__ int sample_at(const ComponentSamples& c, std::int32_t x, std::int32_t y) {
  return c.plane.samples[static_cast<std::uint64_t>(clamp_to(y, c.height)) * c.plane.pitch_bytes +
                         static_cast<std::uint32_t>(clamp_to(x, c.width))];
}

/// A component's value at a pixel of the frame.
__device__ int upsample(const ImageDesc& image, const ComponentSamples& c, std::int32_t x,
                        std::int32_t y) {
  const std::int32_t beside = x % 2 == 1 ? x / 2 + 1 : x / 2 - 1;
  const std::int32_t below = y % 2 == 1 ? y / 2 + 1 : y / 2 - 1;
  switch (c.upsampling) {
    case Upsampling::kFull:
      return sample_at(c, x, y);
    case Upsampling::k2x1:
      return (3 * sample_at(c, x / 2, y) + sample_at(c, beside, y) + (x % 2 == 1 ? 2 : 1)) >> 2;
    case Upsampling::k1x2:
      return (3 * sample_at(c, x, y / 2) + sample_at(c, x, below) + (y % 2 == 1 ? 2 : 1)) >> 2;
    case Upsampling::k2x2: {
      const int near = 3 * sample_at(c, x / 2, y / 2) + sample_at(c, x / 2, below);
      const int far = 3 * sample_at(c, beside, y / 2) + sample_at(c, beside, below);
      return (3 * near + far + (x % 2 == 1 ? 7 : 8)) >> 4;
    }
    case Upsampling::kNearest:
      return sample_at(c, (2 * x + 1) * c.h / (2 * image.h_max),
                       (2 * y + 1) * c.v / (2 * image.v_max));
  }
  return 0;
}

__device__ std::uint32_t pixel_at(const ImageDesc& image, TensorColor color, int components,
                                  std::int32_t x, std::int32_t y) {
  Pixel pixel;
  for (int c = 0; c < components; ++c) {
    pixel.channels[c] =
        upsample(image, image.components[c], image.crop_left + x, image.crop_top + y);
  }
  pixel = convert(image.conversion, color, pixel);
  return static_cast<std::uint32_t>(pixel.channels[0]) |
         static_cast<std::uint32_t>(pixel.channels[1]) << 8 |
         static_cast<std::uint32_t>(pixel.channels[2]) << 16;
}

/// How many components a pixel is made of.
__device__ int component_count(const ImageDesc& image) {
  switch (image.conversion) {
    case Conversion::kNone:
      return image.channels;
    case Conversion::kCmykToRgb:
    case Conversion::kYcckToRgb:
      return 4;
    default:
      return 3;
  }
}

/// The last of `count` entries that is not above `value`.
__device__ std::uint32_t find(const std::uint32_t* firsts, std::uint32_t count,
                              std::uint32_t value) {
  std::uint32_t low = 0;
  while (low + 1 < count) {
    const std::uint32_t middle = (low + count) / 2;
    if (firsts[middle] <= value) {
      low = middle;
    } else {
      count = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kAcrossThreads) across_kernel(BatchDesc batch) {
  __shared__ std::uint32_t pixels[kAcrossRows][kAcrossPixels];
  gpu::grid_dependency_sync();
  const std::uint32_t index = find(batch.first_tile, batch.count, blockIdx.x);
  const ImageDesc& image = batch.images[index];
  std::uint32_t tile = blockIdx.x - batch.first_tile[index];
  int channel = 0;
  while (tile >= image.first_tile[channel + 1]) ++channel;
  tile -= image.first_tile[channel];
  const AxisWeights& axis = batch.axes[image.across[channel]];
  const std::int32_t row0 =
      static_cast<std::int32_t>(tile / image.column_tiles[channel]) * kAcrossRows;
  const std::int32_t column0 =
      static_cast<std::int32_t>(tile % image.column_tiles[channel]) * image.columns[channel];
  const std::int32_t columns = min(image.columns[channel], image.width_px - column0);
  const std::int32_t rows = min(kAcrossRows, image.rows[channel] - row0);
  const std::int32_t last = column0 + columns - 1;
  const std::int32_t begin = axis.first[column0];
  const std::int32_t length = min(axis.first[last] + axis.count[last] - begin, kAcrossPixels);

  const int components = component_count(image);
  for (std::int32_t r = 0; r < rows; ++r) {
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < length; i += kAcrossThreads) {
      const ComponentSamples& c = image.components[channel];
      pixels[r][i] =
          image.exact
              ? pixel_at(image, batch.color, components, begin + i, row0 + r)
              : static_cast<std::uint32_t>(sample_at(c, c.left + begin + i, c.top + row0 + r));
    }
  }
  __syncthreads();

  const std::int32_t column = static_cast<std::int32_t>(threadIdx.x);
  if (column >= columns) return;
  const std::int32_t x = column0 + column;
  const std::int32_t first = axis.first[x] - begin;
  const std::int32_t count = axis.count[x];
  float sums[kAcrossRows][3] = {};
  for (std::int32_t k = 0; k < count; ++k) {
    const float weight = axis.weights[static_cast<std::int64_t>(k) * image.width_px + x];
#pragma unroll
    for (int r = 0; r < kAcrossRows; ++r) {
      const std::uint32_t pixel = pixels[r][first + k];
      sums[r][0] += weight * static_cast<float>(pixel & 0xFF);
      sums[r][1] += weight * static_cast<float>(pixel >> 8 & 0xFF);
      sums[r][2] += weight * static_cast<float>(pixel >> 16 & 0xFF);
    }
  }
  const int made = image.exact ? image.channels : 1;
#pragma unroll
  for (int r = 0; r < kAcrossRows; ++r) {
    if (r >= rows) break;
    const std::int64_t at = static_cast<std::int64_t>(row0 + r) * image.width_px + x;
    image.middle[channel][at] = sums[r][0];
    if (made > 1) {
      image.middle[1][at] = sums[r][1];
      image.middle[2][at] = sums[r][2];
    }
  }
}

}  // namespace

void launch_across(const BatchDesc& batch, cudaStream_t stream) {
  gpu::launch(across_kernel, batch.tiles, kAcrossThreads, 0, stream, batch);
}

}  // namespace framewire::tensor::cuda
