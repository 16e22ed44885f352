// YUV4MPEG2, the plainest format that viewers and ffmpeg read planes from.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::app {

/// One plane; rows follow one another without padding.
struct Y4mPlane {
  const std::uint8_t* samples = nullptr;  ///< [height_px][width_px]
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
};

/// A file of one picture: full range, chroma sited as in JPEG.
/// @param planes  gray, or Y, Cb and Cr with 4:4:4, 4:2:2, 4:2:0, 4:4:0 or 4:1:1 chroma
/// @return unsupported for others
[[nodiscard]] Result<std::vector<std::uint8_t>> make_y4m(std::span<const Y4mPlane> planes);

}  // namespace framewire::app
