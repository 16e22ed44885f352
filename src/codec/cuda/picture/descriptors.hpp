// Descriptors that the kernels between decoding and encoding read: plain structs, filled on the
// host.
#pragma once

#include <vector_types.h>
#include <codec/cuda/given_up.hpp>
#include <codec/cuda/picture/filter_shape.hpp>
#include <codec/cuda/picture/pixel_conversion.hpp>
#include <codec/cuda/samples.hpp>
#include <codec/cuda/tile.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// A filter along rows. Runs of samples are rounded out to aligned groups of 4; weights are in
/// 1/16384, and those of an output sample sum to 1 exactly.
struct AcrossDesc {
  std::uint32_t* first = nullptr;  ///< [out] a multiple of 4
  uint2* weights = nullptr;        ///< [out][run] 4 signed high bytes, 4 low bytes
  std::uint32_t run = 0;           ///< words of 4 samples
  transform::AxisTaps taps;
};
/// A filter along columns, for kRowGroup output samples together: for each source sample of their
/// common run, its weights in all of them. Weights are scaled by 1/16384 to undo the scale of the
/// other pass.
struct DownDesc {
  std::uint32_t* first = nullptr;  ///< [groups] first source sample
  float4* weights = nullptr;       ///< [groups][rows.span]
  DownRows rows;
};

/// One plane to be resampled.
struct ResampleDesc {
  std::uint32_t image = 0;
  const std::uint8_t* source = nullptr;
  std::uint8_t* target = nullptr;
  std::uint32_t source_pitch_bytes = 0;
  std::uint32_t source_height_px = 0;
  std::uint32_t target_pitch_bytes = 0;
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t tile_columns = 0;
  std::uint32_t tile_height = 0;
  std::uint32_t across = 0;  ///< into PictureView::across
  std::uint32_t down = 0;    ///< into PictureView::down
  float* rows = nullptr;     ///< [source_height_px][width_px]; only in resample_long
};

/// One picture to be converted and subsampled, before orientation.
struct ConvertDesc {
  std::uint32_t image = 0;
  SampleView in[4];   ///< all of one size
  SampleView out[4];  ///< the first of that size, the others ⌈size / step⌉
  PixelConversion how;
  const void* table = nullptr;            ///< a PixelTable; null: no profile
  const std::uint8_t* samples = nullptr;  ///< color::srgb_samples(), for tables that want them
  std::uint32_t in_count = 0;
  std::uint32_t out_count = 0;
  std::uint32_t step_x = 1;  ///< pixels that a sample of out[1…] covers
  std::uint32_t step_y = 1;
  std::int32_t shift_x = 0;  ///< where its grid begins: at 0 or, seen from the other end, before
  std::int32_t shift_y = 0;
  std::uint32_t cell_columns = 0;
  std::uint32_t cell_rows = 0;
  std::uint32_t tile_columns = 0;
};

/// One plane to be sharpened.
struct SharpenDesc {
  std::uint32_t image = 0;
  SampleView source;
  SampleView target;
  const float* weights = nullptr;  ///< [2 radius + 1]
  std::uint32_t radius = 0;
  std::uint32_t tile_columns = 0;
};

/// One plane to be turned and set into its canvas.
struct PlaceDesc {
  std::uint32_t image = 0;
  SampleView source;
  SampleView target;
  std::uint32_t orientation = 1;
  std::uint32_t left = 0;  ///< of the turned picture in the target
  std::uint32_t top = 0;
  std::uint32_t width_px = 0;  ///< of the turned picture
  std::uint32_t height_px = 0;
  std::uint32_t fill = 0;
  std::uint32_t tile_columns = 0;
};

/// Arguments of these kernels; passed by value.
struct PictureView {
  const AcrossDesc* across = nullptr;
  const DownDesc* down = nullptr;
  const ResampleDesc* resamples = nullptr;
  const ConvertDesc* converts = nullptr;
  const SharpenDesc* sharpens = nullptr;
  const PlaceDesc* places = nullptr;
  const std::uint32_t* status = nullptr;  ///< [images]
};

}  // namespace framewire::codec::cuda
