// libjpeg-turbo's own decoder as an independent judge.
#pragma once

#include <array>
#include <codec/codec.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace framewire::conformance {

struct LibjpegBlocks {
  std::int32_t width_blocks = 0;  ///< real blocks, without padding
  std::int32_t height_blocks = 0;
  std::int32_t stored_width_blocks = 0;  ///< with the padding of whole MCUs
  std::int32_t stored_height_blocks = 0;
  std::vector<std::array<std::int16_t, 64>>
      blocks;  ///< [stored height][stored width], natural order
};

struct LibjpegCoefficients {
  std::vector<LibjpegBlocks> components;
  long warning_count = 0;
};

/// @return nothing where libjpeg refuses the stream
[[nodiscard]] std::optional<LibjpegCoefficients> libjpeg_coefficients(
    std::span<const std::uint8_t> bytes);

/// The components' own samples by the accurate integer transform, without block smoothing.
/// @return nothing where libjpeg refuses the stream
[[nodiscard]] std::optional<codec::Planes> libjpeg_planes(std::span<const std::uint8_t> bytes);

/// What libjpeg converts to.
enum class LibjpegColor : std::uint8_t { kGray, kRgb, kYcbcr, kCmyk };

struct LibjpegPixels {
  int width_px = 0;
  int height_px = 0;
  int channels = 0;
  std::vector<std::uint8_t> samples;  ///< [height][width][channels]
};

/// Whole pixels as most programs get them: accurate transform, "fancy" upsampling, no smoothing.
/// @return nothing where libjpeg refuses the stream or the conversion
[[nodiscard]] std::optional<LibjpegPixels> libjpeg_pixels(std::span<const std::uint8_t> bytes,
                                                          LibjpegColor color);

}  // namespace framewire::conformance
