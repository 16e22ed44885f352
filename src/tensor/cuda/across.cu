// Idea: a block takes a few rows of an image and some of its output columns. Of the pixels that
// these are made of it first makes RGB in shared memory, each once: chroma upsampled by libjpeg's
// triangle, colours converted and clipped, as decoders for the CPU do before anything is resized.
// Then each thread filters one output column of all its rows, so that a weight is read once for
// them. Images filtered as they are stored (TensorFidelity::kFast) skip the first half: a block
// then takes one component.
//
// Usual samplings are made eight pixels at a time (pixel_group.hpp). Measured (H200, ncu, 47 random
// crops of 1920×1080 to 224×224): 156 million instructions and 320 µs with two to four pixels of
// which each sample is a word and a conversion, 95 million and 219 µs since. Half of the shared
// memory, for twice as many blocks, was worth 4 % of the whole at 500×375.
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
                          std::int32_t x, std::uint32_t* pixels) {
  Pixel first;
  Pixel second;
#pragma unroll
  for (int c = 0; c < kComponents; ++c) {
    const Neighbours pair = upsample(image.components[c], rows[c], image.h_max, x);
    first.channels[c] = pair.left;
    second.channels[c] = pair.right;
  }
  pixels[0] = pack(convert(image.conversion, color, first));
  pixels[1] = pack(convert(image.conversion, color, second));
}

/// Rows of pixels of a thread block, of which the first is in column `x` of the frame, a multiple
/// of kPixelGroup.
struct PixelRows {
  const SourceRows (*sources)[jpeg::kMaxComponents];  ///< shared, [rows][components]
  std::uint32_t (*pixels)[kAcrossPixels];             ///< shared, [rows]
  std::int32_t x;
  std::int32_t length;
  std::int32_t rows;

  /// Makes them, each thread some groups of kSize neighbours: make(rows, x, pixels). The last group
  /// of a row may reach beyond `length`.
  template <int kSize, typename Make>
  __device__ void fill(Make make) const {
    const std::int32_t groups = (length + kSize - 1) / kSize;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < rows * groups; i += kAcrossThreads) {
      std::int32_t row = 0;
      std::int32_t group = i;
      for (; group >= groups; group -= groups) ++row;
      make(sources[row], x + group * kSize, pixels[row] + group * kSize);
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
    rows.fill<kPixelGroup>([&](const SourceRows* sources, std::int32_t x, std::uint32_t* pixels) {
      make_pixel_group<kChroma>(image, color, sources, x, reinterpret_cast<uint4*>(pixels));
    });
  };
  const auto pairs = [&]<int kComponents>() {
    rows.fill<2>([&](const SourceRows* sources, std::int32_t x, std::uint32_t* pixels) {
      make_pair<kComponents>(image, color, sources, x, pixels);
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

/// Brings samples of rows of a component's region, one a pixel. Rows begin in the middle of words.
__device__ void load_samples(const ComponentSamples& c, std::int32_t row0, std::int32_t begin,
                             std::int32_t length, std::int32_t rows,
                             std::uint32_t (*pixels)[kAcrossPixels]) {
  const std::int32_t left = c.left + begin;
  const std::int32_t ahead = left % 4;
  const std::int32_t words = (ahead + length + 3) / 4;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < rows * words; i += kAcrossThreads) {
    std::int32_t row = 0;
    std::int32_t word = i;
    for (; word >= words; word -= words) ++row;
    const std::uint32_t four = *reinterpret_cast<const std::uint32_t*>(
        row_at(c, c.top + row0 + row) + left - ahead + word * 4);
    *reinterpret_cast<uint4*>(pixels[row] + word * 4) =
        make_uint4(four & 0xFF, four >> 8 & 0xFF, four >> 16 & 0xFF, four >> 24);
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

/// A channel of a pixel as a float: 2^23 and the byte have the byte as the lowest of the mantissa,
/// which takes less time than the instruction that converts.
template <int kChannel>
__device__ float channel_of(std::uint32_t pixel) {
  constexpr float kBias = 8388608.f;
  return __uint_as_float(__byte_perm(pixel, 0x4B000000u, 0x7440 + kChannel)) - kBias;
}

/// An output column of a thread block's rows.
struct FilteredColumn {
  const std::uint32_t (*pixels)[kAcrossPixels];  ///< shared, [kAcrossRows]
  const AxisWeights& axis;
  std::int32_t x;
  std::int32_t offset;  ///< from a source pixel's index to its place in `pixels`
  std::int32_t row0;
  std::int32_t rows;

  /// Filters a pixel's first kChannels, which are those of the image from `channel` on.
  template <int kChannels>
  __device__ void make(const ImageDesc& image, int channel) const {
    const std::int32_t first = axis.first[x] + offset;
    const std::int32_t count = axis.count[x];
    float sums[kAcrossRows][kChannels] = {};
    const float* weights = axis.weights + x;
    for (std::int32_t k = 0; k < count; ++k, weights += image.width_px) {
      const float weight = *weights;
#pragma unroll
      for (int r = 0; r < kAcrossRows; ++r) {
        const std::uint32_t pixel = pixels[r][first + k];
        sums[r][0] += weight * channel_of<0>(pixel);
        if constexpr (kChannels == 3) {
          sums[r][1] += weight * channel_of<1>(pixel);
          sums[r][2] += weight * channel_of<2>(pixel);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kAcrossRows; ++r) {
      if (r >= rows) break;
      const std::int64_t at = static_cast<std::int64_t>(row0 + r) * image.width_px + x;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) image.middle[channel + c][at] = sums[r][c];
    }
  }
};

static_assert(kAcrossPixels >= kAcrossSpan + 2 * (kPixelGroup - 1));

__global__ void __launch_bounds__(kAcrossThreads) across_kernel(BatchDesc batch) {
  __shared__ uint4 quads[kAcrossRows][kAcrossPixels / 4];
  __shared__ SourceRows sources[kAcrossRows][jpeg::kMaxComponents];
  gpu::grid_dependency_sync();
  auto* const pixels = reinterpret_cast<std::uint32_t(*)[kAcrossPixels]>(quads);
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
  const std::int32_t length = min(axis.first[last] + axis.count[last] - begin, kAcrossSpan);

  const std::int32_t x0 = image.crop_left + begin;
  // Pixels before the first that is wanted: of its group, or of its word.
  const std::int32_t skipped =
      image.exact ? x0 % kPixelGroup : (image.components[channel].left + begin) % 4;
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
