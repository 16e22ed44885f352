// What a decode to device memory makes of a file.
#pragma once

#include <framewire/device.hpp>
#include <jpeg/types.hpp>

namespace framewire::engine {

/// @return invalid_input unless 8 or one of plan::kReducedScales
[[nodiscard]] Result<void> check_scale(int scale);

/// @param file  as jpeg::check_supported() accepts it
[[nodiscard]] DeviceColorModel color_model_of(const jpeg::JpegFile& file);
/// Whether 0 is full ink.
[[nodiscard]] bool has_inverted_inks(const jpeg::JpegFile& file);

/// @param file  of 1 to 4 components, as jpeg::check_supported() accepts it
[[nodiscard]] DeviceImageShape shape_of(const jpeg::JpegFile& file, int scale);

}  // namespace framewire::engine
