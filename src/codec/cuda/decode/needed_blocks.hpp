// Which blocks of a picture its output is made of: a crop needs few.
#pragma once

#include <codec/cuda/item.hpp>
#include <cstdint>
#include <jpeg/types.hpp>

namespace framewire::codec::cuda {

/// Columns and rows of blocks, or of MCUs, ends excluded.
struct BlockRect {
  std::uint32_t first_column = 0;
  std::uint32_t end_column = 0;
  std::uint32_t first_row = 0;
  std::uint32_t end_row = 0;

  [[nodiscard]] constexpr std::uint32_t columns() const { return end_column - first_column; }
  [[nodiscard]] constexpr std::uint32_t rows() const { return end_row - first_row; }
  [[nodiscard]] constexpr bool empty() const { return columns() == 0 || rows() == 0; }
};

/// The blocks of a component whose samples are read, with some around them: kernels read whole
/// words, and neighbours that they give no weight. Empty for a component that the plan does not
/// use.
[[nodiscard]] BlockRect needed_blocks(const Item& item, std::size_t component);

/// The MCUs of a scan that hold needed blocks.
/// @param needed  blocks of the frame's components
[[nodiscard]] BlockRect needed_mcus(const jpeg::FrameHeader& frame, const jpeg::Scan& scan,
                                    std::span<const BlockRect, jpeg::kMaxComponents> needed);

}  // namespace framewire::codec::cuda
