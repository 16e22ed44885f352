// The last rows of one component, between the decoder and the upsampler.
#pragma once

#include <codec/turbo/region_decoder.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace framewire::tensor {

/// Holds the region's columns of two MCU rows: as many as it takes until the row after them is
/// there.
class PlaneRing {
 public:
  /// @param band_rows  rows of the component in an MCU row
  void begin(const codec::SampleRegion& region, std::int32_t band_rows);

  /// Copies rows inside of the region; those of one call are at most band_rows.
  void put(std::int32_t first_row, std::span<const std::uint8_t* const> rows);

  /// One past the last row that was put; the region's bottom once all are there.
  [[nodiscard]] std::int32_t end() const noexcept { return end_; }

  /// A row of the component: points to the region's first column. The sample before it and the one
  /// behind the last repeat the edge; kUpsamplePadding bytes behind that can be read.
  /// @param row  the nearest one in the region is given for rows outside of it
  [[nodiscard]] const std::uint8_t* row(std::int32_t row) const noexcept;

 private:
  [[nodiscard]] std::size_t slot(std::int32_t row) const noexcept;

  codec::SampleRegion region_;
  std::int32_t capacity_ = 1;
  std::int32_t end_ = 0;
  std::size_t pitch_ = 0;
  std::vector<std::uint8_t> samples_;
};

}  // namespace framewire::tensor
