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

}  // namespace framewire::conformance
