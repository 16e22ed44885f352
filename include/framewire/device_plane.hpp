// One plane in device memory, as decoders make it and encoders take it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire {

/// One 8-bit plane in device memory; a view. Its maker owns the memory.
struct DevicePlane {
  std::uint8_t* samples = nullptr;  ///< device, [height_px][pitch_bytes]
  std::int32_t width_px = 0;
  std::int32_t height_px = 0;
  std::int32_t pitch_bytes = 0;  ///< from row to row
};

/// Samples of a plane, without what its rows are padded with.
[[nodiscard]] constexpr std::size_t sample_count(const DevicePlane& plane) noexcept {
  return static_cast<std::size_t>(plane.width_px) * static_cast<std::size_t>(plane.height_px);
}

}  // namespace framewire
