// Decodes a part of a picture: rows of every component, at its own sampling and scale.
#pragma once

#include <codec/codec.hpp>
#include <cstdint>
#include <span>

namespace framewire::codec {

/// Samples of one component's plane as it is decoded, at its scale; ends excluded.
struct SampleRegion {
  std::int32_t left = 0;
  std::int32_t top = 0;
  std::int32_t right = 0;
  std::int32_t bottom = 0;
  [[nodiscard]] bool empty() const noexcept { return right <= left || bottom <= top; }
};

/// Takes rows as they are decoded.
class RegionSink {
 public:
  RegionSink() = default;
  RegionSink(const RegionSink&) = delete;
  RegionSink& operator=(const RegionSink&) = delete;
  virtual ~RegionSink() = default;

  /// Decoding begins, or begins again from the first row: rows given before count no more.
  virtual void begin() = 0;
  /// The rows of one component in one MCU row, from the top of the plane down, each row once.
  /// @param first_row  of them, in the component's plane
  /// @param rows       host, [count] pointers to the plane's column 0; valid during the call. Only
  ///                   samples inside of the component's region hold anything
  virtual void rows(int component, std::int32_t first_row,
                    std::span<const std::uint8_t* const> rows) = 0;
  /// All wanted components of an MCU row have been given.
  virtual void end_band() = 0;
};

/// Entropy-decodes an image down to the last row that a region has, and transforms the blocks that
/// a region touches.
///
/// Our own entropy decoder for clean Huffman-coded files, libjpeg-turbo for all others; full scale
/// by libjpeg-turbo's accurate integer transform (ISLOW). What lies below the regions is not read,
/// so that damage there stays unknown, but of progressive files, whose scans are read to their end.
/// @param scales   of each component; planes are ⌈component size × scale / 8⌉
/// @param regions  one a component, inside of its plane; an empty one: the component is not wanted
/// @return invalid_input where nothing can be decoded; too_large for more scans than
///         context.max_scans; deadline; busy
[[nodiscard]] Result<void> decode_regions(const jpeg::JpegFile& file, const plan::Scales& scales,
                                          std::span<const SampleRegion> regions,
                                          const Context& context, RegionSink& sink,
                                          CodecOutcome& outcome);

}  // namespace framewire::codec
