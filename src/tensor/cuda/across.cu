// Idea: a block takes a few rows of an image and some of its output columns. Of the pixels that
// these are made of it first makes RGB in shared memory, each once: chroma upsampled by libjpeg's
// triangle, colours converted and clipped, as decoders for the CPU do before anything is resized.
// Then each thread filters one output column of all its rows, so that a weight is read once for
// them. Images filtered as they are stored (TensorFidelity::kFast) skip the first half: a block
// then takes one component.
#include <gpu/launch.hpp>
#include <tensor/cuda/color_pixel.hpp>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/tuning.hpp>

namespace framewire::tensor::cuda {
namespace {

__device__ std::int32_t clamp_to(std::int32_t at, std::int32_t size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

/// The rows of a component that a row of the frame is made of.
struct SourceRows {
  const std::uint8_t* near;
  const std::uint8_t* far;  ///< where the triangle reaches along columns
  int bias;                 ///< that rounds it, of Upsampling::k1x2
};

__device__ const std::uint8_t* row_at(const ComponentSamples& c, std::int32_t y) {
  return c.plane.samples + static_cast<std::uint64_t>(clamp_to(y, c.height)) * c.plane.pitch_bytes;
}

__device__ SourceRows rows_of(const ComponentSamples& c, int v_max, std::int32_t y) {
  const bool odd = y % 2 == 1;
  switch (c.upsampling) {
    case Upsampling::k1x2:
    case Upsampling::k2x2:
      return {row_at(c, y / 2), row_at(c, odd ? y / 2 + 1 : y / 2 - 1), odd ? 2 : 1};
    case Upsampling::kNearest:
      return {row_at(c, (2 * y + 1) * c.v / (2 * v_max)), nullptr, 0};
    default:
      return {row_at(c, y), nullptr, 0};
  }
}

struct Neighbours {
  int left;
  int right;
};

/// A component's values at two neighbours of a row of the frame, `x` and x + 1; x is even.
/// Together, because they share most of their samples.
__device__ Neighbours upsample(const ComponentSamples& c, const SourceRows& rows, int h_max,
                               std::int32_t x) {
  const auto at = [&](std::int32_t i) { return clamp_to(i, c.width); };
  switch (c.upsampling) {
    case Upsampling::kFull:
      return {rows.near[at(x)], rows.near[at(x + 1)]};
    case Upsampling::k2x1: {
      const int here = 3 * rows.near[at(x / 2)];
      return {(here + rows.near[at(x / 2 - 1)] + 1) >> 2,
              (here + rows.near[at(x / 2 + 1)] + 2) >> 2};
    }
    case Upsampling::k1x2:
      return {(3 * rows.near[at(x)] + rows.far[at(x)] + rows.bias) >> 2,
              (3 * rows.near[at(x + 1)] + rows.far[at(x + 1)] + rows.bias) >> 2};
    case Upsampling::k2x2: {
      const auto column = [&](std::int32_t i) { return 3 * rows.near[at(i)] + rows.far[at(i)]; };
      const int here = 3 * column(x / 2);
      return {(here + column(x / 2 - 1) + 8) >> 4, (here + column(x / 2 + 1) + 7) >> 4};
    }
    case Upsampling::kNearest:
      return {rows.near[at((2 * x + 1) * c.h / (2 * h_max))],
              rows.near[at((2 * x + 3) * c.h / (2 * h_max))]};
  }
  return {0, 0};
}

__device__ std::uint32_t pack(const Pixel& pixel) {
  return static_cast<std::uint32_t>(pixel.channels[0]) |
         static_cast<std::uint32_t>(pixel.channels[1]) << 8 |
         static_cast<std::uint32_t>(pixel.channels[2]) << 16;
}

/// Makes the pixels of a row of the crop in shared memory. @param x0, y  in the frame
template <int kComponents>
__device__ void make_row(const ImageDesc& image, TensorColor color, std::int32_t x0, std::int32_t y,
                         std::int32_t length, std::uint32_t* pixels) {
  SourceRows rows[kComponents];
#pragma unroll
  for (int c = 0; c < kComponents; ++c) {
    rows[c] = rows_of(image.components[c], image.v_max, y);
  }
  const std::int32_t skipped = x0 % 2;  // pixels before x0 in its pair
  for (std::int32_t i = 2 * static_cast<std::int32_t>(threadIdx.x) - skipped; i < length;
       i += 2 * kAcrossThreads) {
    Pixel first;
    Pixel second;
#pragma unroll
    for (int c = 0; c < kComponents; ++c) {
      const Neighbours pair = upsample(image.components[c], rows[c], image.h_max, x0 + i);
      first.channels[c] = pair.left;
      second.channels[c] = pair.right;
    }
    if (i >= 0) pixels[i] = pack(convert(image.conversion, color, first));
    if (i + 1 < length) pixels[i + 1] = pack(convert(image.conversion, color, second));
  }
}

/// Four neighbours of a row of the frame, of which the first is a multiple of 4.
struct Four {
  int at[4];
};

/// Planes are whole blocks, so that four may be read where the picture has fewer.
__device__ Four luma_four(const std::uint8_t* row, std::int32_t x) {
  const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(row + x);
  return {{static_cast<int>(word & 0xFF), static_cast<int>(word >> 8 & 0xFF),
           static_cast<int>(word >> 16 & 0xFF), static_cast<int>(word >> 24)}};
}

/// Upsamples a component of half as many columns, and rows where kRows.
template <bool kRows>
__device__ Four chroma_four(const ComponentSamples& c, const SourceRows& rows, std::int32_t x) {
  const std::int32_t middle = x / 2;
  const auto column = [&](std::int32_t i) {
    const std::int32_t at = clamp_to(i, c.width);
    return kRows ? 3 * rows.near[at] + rows.far[at] : static_cast<int>(rows.near[at]);
  };
  const int before = column(middle - 1);
  const int first = column(middle);
  const int second = column(middle + 1);
  const int after = column(middle + 2);
  constexpr int kShift = kRows ? 4 : 2;
  constexpr int kLeft = kRows ? 8 : 1;
  constexpr int kRight = kRows ? 7 : 2;
  return {{(3 * first + before + kLeft) >> kShift, (3 * first + second + kRight) >> kShift,
           (3 * second + first + kLeft) >> kShift, (3 * second + after + kRight) >> kShift}};
}

/// As make_row(), for the usual 4:2:0 (kRows) and 4:2:2.
template <bool kRows>
__device__ void make_subsampled_row(const ImageDesc& image, TensorColor color, std::int32_t x0,
                                    std::int32_t y, std::int32_t length, std::uint32_t* pixels) {
  const std::uint8_t* const luma = row_at(image.components[0], y);
  const SourceRows blue = rows_of(image.components[1], image.v_max, y);
  const SourceRows red = rows_of(image.components[2], image.v_max, y);
  const std::int32_t skipped = x0 % 4;  // pixels before x0 among its four
  for (std::int32_t i = 4 * static_cast<std::int32_t>(threadIdx.x) - skipped; i < length;
       i += 4 * kAcrossThreads) {
    const Four ys = luma_four(luma, x0 + i);
    const Four blues = chroma_four<kRows>(image.components[1], blue, x0 + i);
    const Four reds = chroma_four<kRows>(image.components[2], red, x0 + i);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Pixel in{{ys.at[k], blues.at[k], reds.at[k], 0}};
      const std::uint32_t pixel =
          pack(image.conversion == Conversion::kYcbcrToRgb ? ycbcr_to_rgb(in)
                                                           : convert(image.conversion, color, in));
      if (i + k >= 0 && i + k < length) pixels[i + k] = pixel;
    }
  }
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

/// k2x2 or k2x1 where a picture of three components has luma of the frame's own sampling, and both
/// others are upsampled so.
__device__ Upsampling subsampling_of(const ImageDesc& image) {
  const Upsampling chroma = image.components[1].upsampling;
  const bool usual = image.components[0].upsampling == Upsampling::kFull &&
                     image.components[2].upsampling == chroma;
  return usual && (chroma == Upsampling::k2x2 || chroma == Upsampling::k2x1) ? chroma
                                                                             : Upsampling::kFull;
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
  const Upsampling subsampled = components == 3 ? subsampling_of(image) : Upsampling::kFull;
  for (std::int32_t r = 0; r < rows; ++r) {
    const std::int32_t x = image.crop_left + begin;
    const std::int32_t y = image.crop_top + row0 + r;
    if (!image.exact) {
      const ComponentSamples& c = image.components[channel];
      const std::uint8_t* const from = row_at(c, c.top + row0 + r) + c.left + begin;
      for (auto i = static_cast<std::int32_t>(threadIdx.x); i < length; i += kAcrossThreads) {
        pixels[r][i] = from[i];
      }
    } else if (subsampled == Upsampling::k2x2) {
      make_subsampled_row<true>(image, batch.color, x, y, length, pixels[r]);
    } else if (subsampled == Upsampling::k2x1) {
      make_subsampled_row<false>(image, batch.color, x, y, length, pixels[r]);
    } else if (components == 3) {
      make_row<3>(image, batch.color, x, y, length, pixels[r]);
    } else if (components == 1) {
      make_row<1>(image, batch.color, x, y, length, pixels[r]);
    } else {
      make_row<4>(image, batch.color, x, y, length, pixels[r]);
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
