// Eight neighbouring pixels of a row at once, of pictures in YCbCr or of three components as they
// are, for the usual samplings: 4:2:0, 4:2:2 and 4:4:4. Samples travel two in a word, those of
// pixels 0 and 4, 1 and 5, 2 and 6, 3 and 7, so that one instruction upsamples both. Bit for bit
// what FullRows and color_rows.hpp make.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <tensor/cuda/color_pixel.hpp>
#include <tensor/cuda/source_rows.hpp>

namespace framewire::tensor::cuda {

/// Pixels of a group. The first is one of the frame's columns that are multiples of it.
inline constexpr std::int32_t kPixelGroup = 8;

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

/// Three values to three bytes, the first lowest: clamped.
inline __device__ std::uint32_t pack_clamped(int first, int second, int third) {
#if defined(__CUDA_ARCH__)
  std::uint32_t high = 0;
  std::uint32_t all = 0;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(0), "r"(third), "r"(0));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(second), "r"(first), "r"(high));
  return all;
#else
  return static_cast<std::uint32_t>(clamp_sample(first)) |
         static_cast<std::uint32_t>(clamp_sample(second)) << 8 |
         static_cast<std::uint32_t>(clamp_sample(third)) << 16;
#endif
}

/// As pack(ycbcr_to_rgb()). Luma is added where the products' fractions end, so that one shift
/// serves both.
inline __device__ std::uint32_t packed_rgb(int luma, int blue, int red) {
  const int lifted = luma << 16 | 1 << 15;
  const int cb = blue - 128;
  const int cr = red - 128;
  return pack_clamped((lifted + cr * 91881) >> 16, (lifted - cb * 22554 - cr * 46802) >> 16,
                      (lifted + cb * 116130) >> 16);
}

/// The pixels of a group, one in a word as pack() does.
/// @tparam kChroma  k2x2, k2x1 or kFull, of the second and the third component
template <Upsampling kChroma>
__device__ void make_pixel_group(const ImageDesc& image, TensorColor color, const SourceRows* rows,
                                 std::int32_t x, uint4* pixels) {
  const auto chroma = [&](int c) {
    if constexpr (kChroma == Upsampling::kFull) return full_pixel_group(rows[c], x);
    return half_pixel_group<kChroma == Upsampling::k2x2>(rows[c], x, image.components[c].width);
  };
  const PixelGroupSamples samples[3] = {full_pixel_group(rows[0], x), chroma(1), chroma(2)};
  std::uint32_t made[kPixelGroup];
#pragma unroll
  for (int k = 0; k < kPixelGroup; ++k) {
    const Pixel in{
        {sample_of(samples[0], k), sample_of(samples[1], k), sample_of(samples[2], k), 0}};
    made[k] = image.conversion == Conversion::kYcbcrToRgb
                  ? packed_rgb(in.channels[0], in.channels[1], in.channels[2])
                  : pack(convert(image.conversion, color, in));
  }
  pixels[0] = make_uint4(made[0], made[1], made[2], made[3]);
  pixels[1] = make_uint4(made[4], made[5], made[6], made[7]);
}

}  // namespace framewire::tensor::cuda
