// What the kernels that make tensors read of each image.
#pragma once

#include <codec/cuda/samples.hpp>
#include <cstdint>
#include <tensor/geometry.hpp>
#include <transform/crop_taps.hpp>

namespace framewire::tensor::cuda {

/// Weights of every output sample of an axis, as transform::for_each_crop_tap() gives them.
struct AxisWeights {
  transform::CropTaps taps;
  float* weights = nullptr;       ///< [most][out_size]: neighbours in a warp read neighbours
  std::int32_t* first = nullptr;  ///< [out_size]
  std::int32_t* count = nullptr;  ///< [out_size] at most `most`
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
  float* middle[3] = {};  ///< [rows][width_px] of each channel, filtered along rows
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
