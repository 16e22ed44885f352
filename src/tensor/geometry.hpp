// Which samples of a file an image of a batch is made of, and where they go.
#pragma once

#include <array>
#include <codec/turbo/region_decoder.hpp>
#include <framewire/tensor.hpp>
#include <jpeg/types.hpp>
#include <plan/plan.hpp>
#include <transform/axis_taps.hpp>

namespace framewire::tensor {

/// What a file's components become.
enum class Conversion : std::uint8_t {
  kNone,  ///< components are the channels
  kYcbcrToRgb,
  kRgbToYcbcr,
  kRgbToGray,
  kCmykToRgb,
  kYcckToRgb,
};

/// How one component is decoded and, with TensorFidelity::kFast, filtered.
struct ComponentGeometry {
  codec::SampleRegion region;  ///< empty: not wanted
  int scale = 8;
  transform::AxisGeometry x;  ///< of the region's samples to the output's, not yet turned
  transform::AxisGeometry y;
};

struct ImageGeometry {
  PictureSize shown;          ///< upright, where EXIF applies
  CropBox crop;               ///< in `shown`
  CropBox stored;             ///< the same in the picture as stored
  int orientation = 1;        ///< applied when the tensor is written
  std::int32_t width_px = 0;  ///< of the resized crop, not yet turned
  std::int32_t height_px = 0;
  bool exact = true;  ///< planes are upsampled and converted before they are filtered
  Conversion conversion = Conversion::kNone;
  int channels = 1;  ///< after conversion: 1 or 3
  int component_count = 0;
  std::array<ComponentGeometry, jpeg::kMaxComponents> components;
};

/// The picture's size as crops count it.
[[nodiscard]] PictureSize shown_size(const jpeg::JpegFile& file, bool exif);

/// @param file  that jpeg::check_supported() has let through
/// @return invalid_input for a crop that does not lie in the picture, saying what would be accepted
[[nodiscard]] Result<ImageGeometry> plan_image(const jpeg::JpegFile& file,
                                               const std::optional<CropBox>& crop,
                                               const TensorOptions& options);

}  // namespace framewire::tensor
