// What the kernels between resampling and encoding read; offsets as in descriptors.hpp.
#pragma once

#include <codec/cuda/pixel_conversion.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// A plane of 8-bit samples in the batch's memory.
struct SampleView {
  std::uint64_t samples = 0;
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;  ///< a multiple of 16
};

/// One picture to be converted and subsampled, before orientation.
struct ConvertDesc {
  std::uint32_t image = 0;
  SampleView in[4];   ///< all of one size
  SampleView out[4];  ///< the first of that size, the others ⌈size / step⌉
  PixelConversion how;
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
  std::uint64_t weights = 0;  ///< [2 radius + 1] float
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

}  // namespace framewire::codec::cuda
