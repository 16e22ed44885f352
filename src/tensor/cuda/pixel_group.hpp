// Eight neighbouring pixels of a row at once, of pictures in YCbCr or of three components as they
// are, for the usual samplings: 4:2:0, 4:2:2 and 4:4:4. Samples travel two in a word, those of
// pixels 0 and 4, 1 and 5, 2 and 6, 3 and 7, so that one instruction upsamples both. Bit for bit
// what FullRows and color_rows.hpp make.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <tensor/cuda/color_pixel.hpp>
#include <tensor/cuda/source_rows.hpp>
#include <tensor/cuda/tuning.hpp>

namespace framewire::tensor::cuda {

/// Pixels of a group. The first is one of the frame's columns that are multiples of it.
inline constexpr std::int32_t kPixelGroup = 8;

/// A row of pixels in shared memory, one plane a channel.
struct alignas(16) PixelPlanes {
  std::uint8_t samples[3][kAcrossPixels];
};

/// A component's samples at a group's pixels: at[k] holds those of pixel k, and above 16 bits of
/// k + 4.
struct PixelGroupSamples {
  std::uint32_t at[4];
};

inline constexpr std::uint32_t kLowBytes = 0x00FF00FF;  ///< of both halves of a word

/// Of a component that has the frame's own sampling. Planes are whole blocks, so that eight samples
/// may be read where the picture has fewer.
inline __device__ PixelGroupSamples full_pixel_group(const SourceRows& rows, std::int32_t x) {
  const uint2 words = *reinterpret_cast<const uint2*>(rows.near + x);
  const std::uint32_t even[2] = {words.x & kLowBytes, words.y & kLowBytes};
  const std::uint32_t odd[2] = {words.x >> 8 & kLowBytes, words.y >> 8 & kLowBytes};
  return {{__byte_perm(even[0], even[1], 0x5410), __byte_perm(odd[0], odd[1], 0x5410),
           __byte_perm(even[0], even[1], 0x7632), __byte_perm(odd[0], odd[1], 0x7632)}};
}

/// Six neighbouring samples of a component of half as many columns: four below a group's pixels,
/// and one on either side, which at the picture's edge is the outermost again.
struct HalfColumns {
  std::uint32_t even;  ///< the first and, above 16 bits, the third of the four
  std::uint32_t odd;   ///< the second and the fourth
  std::uint32_t before;
  std::uint32_t after;
};

inline __device__ HalfColumns half_columns(const std::uint8_t* row, std::int32_t middle,
                                           std::int32_t width) {
  std::uint32_t four = *reinterpret_cast<const std::uint32_t*>(row + middle);
  const std::int32_t left = width - middle;
  if (left < 4) four = __byte_perm(four, 0, left == 3 ? 0x2210 : left == 2 ? 0x1110 : 0x0000);
  return {four & kLowBytes, four >> 8 & kLowBytes, row[max(middle - 1, 0)],
          row[min(middle + 4, width - 1)]};
}

/// Upsamples a component of half as many columns, and rows where kRows, by libjpeg's triangle.
/// Sums stay below 2^12, so that the two in a word do not meet.
template <bool kRows>
__device__ PixelGroupSamples half_pixel_group(const SourceRows& rows, std::int32_t x,
                                              std::int32_t width) {
  const std::int32_t middle = x / 2;
  HalfColumns c = half_columns(rows.near, middle, width);
  if constexpr (kRows) {
    const HalfColumns far = half_columns(rows.far, middle, width);
    c = {3 * c.even + far.even, 3 * c.odd + far.odd, 3 * c.before + far.before,
         3 * c.after + far.after};
  }
  const std::uint32_t before = __byte_perm(c.before, c.odd, 0x5410);  // first of the four, third
  const std::uint32_t after = __byte_perm(c.even, c.after, 0x5432);   // second, fourth
  constexpr int kShift = kRows ? 4 : 2;
  constexpr std::uint32_t kLeft = kRows ? 0x00080008 : 0x00010001;
  constexpr std::uint32_t kRight = kRows ? 0x00070007 : 0x00020002;
  const auto sum = [](std::uint32_t near, std::uint32_t far, std::uint32_t bias) {
    return (3 * near + far + bias) >> kShift & kLowBytes;
  };
  return {{sum(c.even, before, kLeft), sum(c.even, c.odd, kRight), sum(c.odd, c.even, kLeft),
           sum(c.odd, after, kRight)}};
}

/// The sample of pixel k.
inline __device__ int sample_of(const PixelGroupSamples& samples, int k) {
  return static_cast<int>(k < 4 ? samples.at[k] & 0xFFFF : samples.at[k - 4] >> 16);
}

/// Four values to four bytes, the first lowest: clamped.
inline __device__ std::uint32_t pack_clamped(const int* values) {
#if defined(__CUDA_ARCH__)
  std::uint32_t high = 0;
  std::uint32_t all = 0;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
      : "=r"(high)
      : "r"(values[3]), "r"(values[2]), "r"(0));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
      : "=r"(all)
      : "r"(values[1]), "r"(values[0]), "r"(high));
  return all;
#else
  std::uint32_t all = 0;
  for (int i = 0; i < 4; ++i) all |= static_cast<std::uint32_t>(clamp_sample(values[i])) << 8 * i;
  return all;
#endif
}

/// As ycbcr_to_rgb(), not yet clamped. Luma is added where the products' fractions end, so that one
/// shift serves both.
inline __device__ Pixel unclamped_rgb(const Pixel& in) {
  const int lifted = in.channels[0] << 16 | 1 << 15;
  const int cb = in.channels[1] - 128;
  const int cr = in.channels[2] - 128;
  return {{(lifted + cr * 91881) >> 16, (lifted - cb * 22554 - cr * 46802) >> 16,
           (lifted + cb * 116130) >> 16, 0}};
}

/// The pixels of a group, to three planes.
/// @tparam kChroma  k2x2, k2x1 or kFull, of the second and the third component
template <Upsampling kChroma>
__device__ void make_pixel_group(const ImageDesc& image, TensorColor color, const SourceRows* rows,
                                 std::int32_t x, PixelPlanes& planes, std::int32_t at) {
  const auto chroma = [&](int c) {
    if constexpr (kChroma == Upsampling::kFull) return full_pixel_group(rows[c], x);
    return half_pixel_group<kChroma == Upsampling::k2x2>(rows[c], x, image.components[c].width);
  };
  const PixelGroupSamples samples[3] = {full_pixel_group(rows[0], x), chroma(1), chroma(2)};
  int made[3][kPixelGroup];
#pragma unroll
  for (int k = 0; k < kPixelGroup; ++k) {
    const Pixel in{
        {sample_of(samples[0], k), sample_of(samples[1], k), sample_of(samples[2], k), 0}};
    const Pixel out = image.conversion == Conversion::kYcbcrToRgb
                          ? unclamped_rgb(in)
                          : convert(image.conversion, color, in);
#pragma unroll
    for (int c = 0; c < 3; ++c) made[c][k] = out.channels[c];
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    *reinterpret_cast<uint2*>(planes.samples[c] + at) =
        make_uint2(pack_clamped(made[c]), pack_clamped(made[c] + 4));
  }
}

}  // namespace framewire::tensor::cuda
