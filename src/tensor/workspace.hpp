// What one thread needs to make one image of a batch; reused, so that memory is allocated by the
// first images only.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tensor/float_filter.hpp>
#include <tensor/full_rows.hpp>
#include <tensor/geometry.hpp>
#include <tensor/plane_resampler.hpp>
#include <vector>

namespace framewire::tensor {

struct Workspace {
  std::vector<std::uint8_t> file;  ///< a copy: what is believed must not change
  std::array<FloatFilter, 2 * jpeg::kMaxComponents> filters;  ///< x and y of each component
  std::array<FullRows, jpeg::kMaxComponents> components;
  std::array<PlaneResampler, 3> resamplers;
  std::array<std::vector<std::uint8_t>, 3> converted;  ///< a row of each channel
  std::vector<std::uint8_t> picture;  ///< [channel][height][pitch] resized, not yet turned
  std::vector<float> planes;          ///< of TensorFidelity::kFast: the same before conversion
  std::size_t pitch = 0;              ///< of `picture` and `planes`, in samples

  [[nodiscard]] std::size_t offset(const ImageGeometry& image, std::size_t channel,
                                   std::int32_t row) const {
    return (channel * static_cast<std::size_t>(image.height_px) + static_cast<std::size_t>(row)) *
           pitch;
  }
};

/// Decodes the crop and resizes it into `workspace.picture`.
/// @return as codec::decode_regions()
[[nodiscard]] Result<void> make_picture(const jpeg::JpegFile& file, const ImageGeometry& image,
                                        const TensorOptions& options, const codec::Context& context,
                                        Workspace& workspace, codec::CodecOutcome& outcome);

}  // namespace framewire::tensor
