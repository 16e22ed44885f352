// Where the levels of one block of a progressive file lie.
#pragma once

#include <base/host_device.hpp>
#include <codec/cuda/decode/ac_descriptors.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

class BlockLevels {
 public:
  FW_HD BlockLevels(const ProgressivePlane& plane, std::uint32_t block)
      : shift_(plane.corner_shift), at_(block << (2 * shift_)), kept_(plane.corner_mask) {
    const std::uint32_t row = block / plane.width_blocks;
    const std::uint32_t column = block - row * plane.width_blocks;
    const bool right = plane.right_edge != 0 && column + 1 == plane.width_blocks;
    const bool bottom = plane.bottom_edge != 0 && row + 1 == plane.height_blocks;
    if (!right && !bottom) return;
    const std::uint32_t slot =
        right ? row : (plane.right_edge != 0 ? plane.height_blocks : 0) + column;
    shift_ = 3;
    at_ = plane.edges_at + slot * 64;
    kept_ = ~std::uint64_t{0};
  }
  /// Mask of the coefficients that are kept.
  FW_HD std::uint64_t kept() const { return kept_; }
  /// Index of a kept coefficient's level. @param natural  its position
  FW_HD std::uint32_t index(std::uint32_t natural) const {
    return at_ + ((natural >> 3) << shift_) + (natural & 7);
  }

 private:
  std::uint32_t shift_;
  std::uint32_t at_;
  std::uint64_t kept_;
};

}  // namespace framewire::codec::cuda
