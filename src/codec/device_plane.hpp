// Planes in device memory, as codecs hand them to one another and to callers.
#pragma once

#include <cstdint>

namespace framewire::codec {

/// One 8-bit plane in device memory; a view. Its maker owns the memory.
struct DevicePlane {
  std::uint8_t* samples = nullptr;  ///< device, [height_px][pitch_bytes], 16-byte aligned
  std::uint32_t width_px = 0;
  std::uint32_t height_px = 0;
  std::uint32_t pitch_bytes = 0;  ///< a multiple of 16; bytes behind width_px are readable
};

}  // namespace framewire::codec
