// What the kernels that make tensors read of each image.
#pragma once

#include <cuda_runtime_api.h>
#include <codec/cuda/samples.hpp>
#include <cstdint>
#include <tensor/geometry.hpp>
#include <transform/crop_taps.hpp>

namespace framewire::tensor::cuda {

/// Fractions of weights, and of what lies between the passes. Weights of a sample sum to 1 exactly,
/// and none reaches 2: enlarged by lanczos3 the largest is 1.3, and their values sum to 1.6. So all
/// that is between the passes fits into 16 bits, and every sum into 32.
inline constexpr int kWeightBits = 14;
inline constexpr int kMiddleBits = 6;

/// Three channels of a pixel between the passes: the first, lifted by kLifted so that it is not
/// negative, and above 16 bits the second; the third. A product with the first word is one of both.
struct alignas(8) MiddlePixel {  // one load
  std::uint32_t first_two;
  std::int32_t third;
};
inline constexpr std::int32_t kLifted = 1 << 14;

/// Weights of every output sample of an axis, as transform::for_each_crop_tap() gives them, in
/// units of 2^-kWeightBits. Four of neighbouring source samples travel together, 16 bits each; some
/// at either end of an output sample's are 0.
struct AxisWeights {
  transform::CropTaps taps;
  uint2* quads = nullptr;         ///< [most][out_size]: neighbours in a warp read neighbours
  std::int32_t* first = nullptr;  ///< [out_size] source sample of the first quad; may be below 0
  std::int32_t* count = nullptr;  ///< [out_size] quads, at most `most`
  /// first + lead is a multiple of this, a power of two.
  std::int32_t alignment = 1;
  std::int32_t lead = 0;
};

/// How a component's samples reach the frame's own sampling; see FullRows.
enum class Upsampling : std::uint8_t { kFull, k2x1, k1x2, k2x2, kNearest };

struct ComponentSamples {
  codec::cuda::SampleView plane;
  std::int32_t width = 0;  ///< samples that belong to the picture
  std::int32_t height = 0;
  std::int32_t left = 0;  ///< of the region that is filtered, with TensorFidelity::kFast
  std::int32_t top = 0;
  Upsampling upsampling = Upsampling::kFull;
  std::uint8_t h = 1;
  std::uint8_t v = 1;
};

/// One image. Exact ones have one pair of axes for all channels, others one a channel.
struct ImageDesc {
  ComponentSamples components[jpeg::kMaxComponents];
  std::uint32_t across[3] = {};  ///< indices of AxisWeights
  std::uint32_t down[3] = {};
  /// What is filtered along rows, [rows][width_px], in units of 2^-kMiddleBits: of exact images of
  /// three channels the pixels, of others one plane a channel.
  MiddlePixel* middle_pixels = nullptr;
  std::int16_t* middle[3] = {};
  std::int32_t rows[3] = {};
  std::int32_t width_px = 0;  ///< of the output, not yet turned
  std::int32_t height_px = 0;
  std::int32_t crop_left = 0;
  std::int32_t crop_top = 0;
  std::int32_t columns[3] = {};  ///< output columns of a block, 1 to kAcrossThreads
  std::uint32_t column_tiles[3] = {};
  std::uint32_t first_tile[4] =
      {};  ///< of each channel among the image's; the last is their number
  std::int32_t channels = 1;
  int orientation = 1;  ///< with the flip
  std::uint8_t h_max = 1;
  std::uint8_t v_max = 1;
  bool exact = true;
  Conversion conversion = Conversion::kNone;
  void* out = nullptr;
};

/// What all images of a batch share.
struct BatchDesc {
  const ImageDesc* images = nullptr;
  const AxisWeights* axes = nullptr;
  const std::uint32_t* first_tile = nullptr;  ///< [count + 1] of images, among the batch's
  const void* tables = nullptr;               ///< [channels][256] elements
  std::uint32_t count = 0;
  std::uint32_t axis_count = 0;
  std::uint32_t tiles = 0;
  std::int32_t max_axis = 0;  ///< output samples of the longest
  std::int32_t width_px = 0;  ///< of the batch's images
  std::int32_t height_px = 0;
  TensorColor color = TensorColor::kRgb;
  TensorLayout layout = TensorLayout::kNchw;
  int element_bytes = 4;
  int channels = 3;                 ///< of the batch's images
  int sources[3] = {0, 1, 2};       ///< source_channel() of pictures of three channels
  int gray_sources[3] = {0, 0, 0};  ///< of one channel
};

}  // namespace framewire::tensor::cuda
