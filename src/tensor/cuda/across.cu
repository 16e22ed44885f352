// Idea: a block takes a few rows of an image and some of its output columns. Of the pixels that
// these are made of it first makes RGB in shared memory, each once: chroma upsampled by libjpeg's
// triangle, colours converted and clipped, as decoders for the CPU do before anything is resized.
// Then each thread filters one output column of all its rows, so that weights are read once for
// them, and four neighbours of a channel by two instructions. Images filtered as they are stored
// (TensorFidelity::kFast) skip the first half: a block then takes one component.
//
// Usual samplings are made eight pixels at a time (pixel_group.hpp). Measured (H200, ncu, 47 random
// crops of 1920×1080 to 224×224): 156 million instructions and 320 µs with two to four pixels of
// which each sample is a word and a conversion, 95 million and 219 µs since. Of 32 such
// crops: 69 million and 118 µs with a product and a conversion a sample in single precision, 44
// million and 91 µs with dp2a on planes and eight rows a block instead of four.
#include <gpu/launch.hpp>
#include <tensor/cuda/kernels.hpp>
#include <tensor/cuda/pixel_group.hpp>
#include <tensor/cuda/tuning.hpp>

namespace framewire::tensor::cuda {
namespace {

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

/// Two neighbouring pixels, of which the first is in an even column of the frame.
template <int kComponents>
__device__ void make_pair(const ImageDesc& image, TensorColor color, const SourceRows* rows,
                          std::int32_t x, PixelPlanes& planes, std::int32_t at) {
  Pixel first;
  Pixel second;
#pragma unroll
  for (int c = 0; c < kComponents; ++c) {
    const Neighbours pair = upsample(image.components[c], rows[c], image.h_max, x);
    first.channels[c] = pair.left;
    second.channels[c] = pair.right;
  }
  first = convert(image.conversion, color, first);
  second = convert(image.conversion, color, second);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    if (c >= image.channels) break;
    planes.samples[c][at] = static_cast<std::uint8_t>(first.channels[c]);
    planes.samples[c][at + 1] = static_cast<std::uint8_t>(second.channels[c]);
  }
}

/// Rows of pixels of a thread block, of which the first is in column `x` of the frame, a multiple
/// of kPixelGroup.
struct PixelRows {
  const SourceRows (*sources)[jpeg::kMaxComponents];  ///< shared, [rows][components]
  PixelPlanes* pixels;                                ///< shared, [rows]
  std::int32_t x;
  std::int32_t length;
  std::int32_t rows;

  /// Makes them, each thread some groups of kSize neighbours: make(sources, x, planes, at). The
  /// last group of a row may reach beyond `length`.
  template <int kSize, typename Make>
  __device__ void fill(Make make) const {
    const std::int32_t groups = (length + kSize - 1) / kSize;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < rows * groups; i += kAcrossThreads) {
      std::int32_t row = 0;
      std::int32_t group = i;
      for (; group >= groups; group -= groups) ++row;
      make(sources[row], x + group * kSize, pixels[row], group * kSize);
    }
  }
};

/// The only sampling of a picture's second and third component, if pixel_group.hpp makes such
/// pictures; kNearest for others.
__device__ Upsampling grouped_chroma(const ImageDesc& image, int components) {
  if (components != 3) return Upsampling::kNearest;
  const Upsampling chroma = image.components[1].upsampling;
  const bool usual = image.components[0].upsampling == Upsampling::kFull &&
                     image.components[2].upsampling == chroma;
  return usual && chroma != Upsampling::k1x2 ? chroma : Upsampling::kNearest;
}

__device__ void make_pixels(const ImageDesc& image, TensorColor color, const PixelRows& rows,
                            int components) {
  const auto groups = [&]<Upsampling kChroma>() {
    rows.fill<kPixelGroup>(
        [&](const SourceRows* sources, std::int32_t x, PixelPlanes& planes, std::int32_t at) {
          make_pixel_group<kChroma>(image, color, sources, x, planes, at);
        });
  };
  const auto pairs = [&]<int kComponents>() {
    rows.fill<2>(
        [&](const SourceRows* sources, std::int32_t x, PixelPlanes& planes, std::int32_t at) {
          make_pair<kComponents>(image, color, sources, x, planes, at);
        });
  };
  switch (grouped_chroma(image, components)) {
    case Upsampling::k2x2:
      return groups.template operator()<Upsampling::k2x2>();
    case Upsampling::k2x1:
      return groups.template operator()<Upsampling::k2x1>();
    case Upsampling::kFull:
      return groups.template operator()<Upsampling::kFull>();
    default:
      break;
  }
  if (components == 3) return pairs.template operator()<3>();
  if (components == 1) return pairs.template operator()<1>();
  pairs.template operator()<4>();
}

/// Brings samples of rows of a component's region. @param begin, length  multiples of four behind a
/// whole word
__device__ void load_samples(const ComponentSamples& c, std::int32_t row0, std::int32_t begin,
                             std::int32_t length, std::int32_t rows, PixelPlanes* pixels) {
  const std::int32_t left = c.left + begin;
  const std::int32_t words = length / 4;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < rows * words; i += kAcrossThreads) {
    std::int32_t row = 0;
    std::int32_t word = i;
    for (; word >= words; word -= words) ++row;
    *reinterpret_cast<std::uint32_t*>(pixels[row].samples[0] + word * 4) =
        *reinterpret_cast<const std::uint32_t*>(row_at(c, c.top + row0 + row) + left + word * 4);
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

/// Adds the products of four signed weights of 16 bits and four samples.
__device__ std::int32_t weigh(uint2 weights, std::uint32_t samples, std::int32_t sum) {
#if defined(__CUDA_ARCH__)
  asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights.x), "r"(samples));
  asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights.y), "r"(samples));
#else
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t pair = (i < 2 ? weights.x : weights.y) >> 16 * (i % 2);
    sum += static_cast<std::int16_t>(pair & 0xFFFF) * static_cast<int>(samples >> 8 * i & 0xFF);
  }
#endif
  return sum;
}

/// An output column of a thread block's rows.
struct FilteredColumn {
  const PixelPlanes* pixels;  ///< shared, [kAcrossRows]
  const AxisWeights& axis;
  std::int32_t x;
  std::int32_t offset;  ///< from a source pixel's index to its place in `pixels`
  std::int32_t row0;
  std::int32_t rows;

  /// Filters a pixel's first kChannels, which are all of the image's or, if only one, `channel`.
  template <int kChannels>
  __device__ void make(const ImageDesc& image, int channel) const {
    std::int32_t at = axis.first[x] + offset;
    const std::int32_t count = axis.count[x];
    std::int32_t sums[kAcrossRows][kChannels] = {};
    const uint2* quad = axis.quads + x;
    for (std::int32_t k = 0; k < count; ++k, quad += image.width_px, at += 4) {
      const uint2 weights = *quad;
#pragma unroll
      for (int r = 0; r < kAcrossRows; ++r) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const std::uint32_t four =
              *reinterpret_cast<const std::uint32_t*>(pixels[r].samples[c] + at);
          sums[r][c] = weigh(weights, four, sums[r][c]);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kAcrossRows; ++r) {
      if (r >= rows) break;
      const std::int64_t to = static_cast<std::int64_t>(row0 + r) * image.width_px + x;
      constexpr int kShift = kWeightBits - kMiddleBits;
      const auto rounded = [&](int c) { return (sums[r][c] + (1 << (kShift - 1))) >> kShift; };
      if constexpr (kChannels == 3) {
        const auto second = static_cast<std::uint32_t>(rounded(1)) << 16;
        image.middle_pixels[to] = {second + static_cast<std::uint32_t>(rounded(0) + kLifted),
                                   rounded(2)};
      } else {
        image.middle[channel][to] = static_cast<std::int16_t>(rounded(0));
      }
    }
  }
};

static_assert(kAcrossPixels >= kAcrossSpan + 2 * (kPixelGroup - 1));

__global__ void __launch_bounds__(kAcrossThreads) across_kernel(BatchDesc batch) {
  __shared__ PixelPlanes pixels[kAcrossRows];
  __shared__ SourceRows sources[kAcrossRows][jpeg::kMaxComponents];
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
  const std::int32_t length = min(axis.first[last] + 4 * axis.count[last] - begin, kAcrossSpan);

  const std::int32_t x0 = image.crop_left + begin;
  // Pixels of the first group before those that are wanted.
  const std::int32_t skipped = image.exact ? x0 % kPixelGroup : 0;
  if (image.exact) {
    const int components = component_count(image);
    const auto row = static_cast<std::int32_t>(threadIdx.x / jpeg::kMaxComponents);
    const auto component = static_cast<int>(threadIdx.x % jpeg::kMaxComponents);
    if (row < rows && component < components) {
      sources[row][component] =
          rows_of(image.components[component], image.v_max, image.crop_top + row0 + row);
    }
    __syncthreads();
    make_pixels(image, batch.color, {sources, pixels, x0 - skipped, skipped + length, rows},
                components);
  } else {
    load_samples(image.components[channel], row0, begin, length, rows, pixels);
  }
  __syncthreads();

  const auto column = static_cast<std::int32_t>(threadIdx.x);
  if (column >= columns) return;
  const FilteredColumn filtered{pixels, axis, column0 + column, skipped - begin, row0, rows};
  if (image.exact && image.channels == 3) {
    filtered.make<3>(image, 0);
  } else {
    filtered.make<1>(image, channel);
  }
}

}  // namespace

void launch_across(const BatchDesc& batch, cudaStream_t stream) {
  gpu::launch(across_kernel, batch.tiles, kAcrossThreads, 0, stream, batch);
}

}  // namespace framewire::tensor::cuda
