// Where a dct_block of an output stream comes from: plane, position, MCU.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/encode/descriptors.hpp>

namespace framewire::codec::cuda {

struct EncodePlace {
  std::uint32_t plane;
  std::uint32_t x;  ///< in blocks
  std::uint32_t y;
  std::uint32_t position;  ///< among the component's blocks of the MCU
  std::uint32_t mcu;
};

FW_HD inline EncodePlace place_output_block(const EncodeDesc& stream, std::uint32_t block) {
  EncodePlace place{};
  place.mcu = block / stream.blocks_per_mcu;
  const std::uint32_t phase = block - place.mcu * stream.blocks_per_mcu;
  place.plane = stream.phase_planes >> (2 * phase) & 3;
  const EncodePlane& plane = stream.planes[place.plane];
  place.position = phase - plane.phase;
  const std::uint32_t mcu_y = place.mcu / stream.mcu_columns;
  const std::uint32_t mcu_x = place.mcu - mcu_y * stream.mcu_columns;
  const std::uint32_t row = place.position / plane.h;
  place.x = mcu_x * plane.h + (place.position - row * plane.h);
  place.y = mcu_y * plane.v + row;
  return place;
}

/// Whether a block lies behind the picture and only fills up its MCU.
FW_HD inline bool only_fills(const EncodePlane& plane, const EncodePlace& place) {
  return place.x * 8 >= plane.width_px || place.y * 8 >= plane.height_px;
}

/// The block whose DC level this block carries: itself. A block that only fills up its MCU carries
/// the level of the last block before it that does not, so that it costs two codes (as libjpeg
/// writes them).
FW_HD inline EncodePlace dc_source(const EncodePlane& plane, EncodePlace place) {
  while (place.position != 0 && only_fills(plane, place)) {
    const std::uint32_t row = place.position / plane.h;
    const bool first = place.position == row * plane.h;
    place.x = first ? place.x + plane.h - 1 : place.x - 1;
    if (first) --place.y;
    --place.position;
  }
  return place;
}

/// The block of the same component before this one, against whose DC level it is coded; 0xFFFFFFFF
/// at the start of a segment.
FW_HD inline std::uint32_t previous_block(const EncodeDesc& stream, const EncodePlace& place,
                                          std::uint32_t block) {
  if (place.position != 0) return block - 1;
  const std::uint32_t segment_mcus = stream.segment_blocks / stream.blocks_per_mcu;
  if (place.mcu % segment_mcus == 0) return 0xFFFFFFFFu;
  const EncodePlane& plane = stream.planes[place.plane];
  return block - stream.blocks_per_mcu + plane.h * plane.v - 1;
}

}  // namespace framewire::codec::cuda
