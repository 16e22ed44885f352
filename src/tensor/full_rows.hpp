// Rows of one component at the frame's own sampling.
#pragma once

#include <cstdint>
#include <framewire/tensor.hpp>
#include <jpeg/types.hpp>
#include <tensor/plane_ring.hpp>
#include <vector>

namespace framewire::tensor {

/// Upsamples a component as libjpeg-turbo does: by a triangle where it is sampled half as densely
/// along x, along y or both, otherwise by repeating samples. Factors that do not divide one
/// another, which libjpeg refuses, take the sample under the pixel's centre.
class FullRows {
 public:
  /// @param region  of the component: crop and neighbours
  /// @param crop    in the frame
  void begin(const jpeg::FrameHeader& frame, const jpeg::Component& component,
             const codec::SampleRegion& region, const CropBox& crop);

  [[nodiscard]] PlaneRing& ring() noexcept { return ring_; }

  /// Whether the ring holds all that row `y` of the frame is made of.
  [[nodiscard]] bool has(std::int32_t y) const noexcept;
  /// @return [crop.width_px, + 64] uint8, valid until the next call or put()
  [[nodiscard]] const std::uint8_t* make(std::int32_t y);

 private:
  enum class Kind : std::uint8_t { kFull, k2x1, k1x2, k2x2, kNearest };

  [[nodiscard]] std::int32_t row_of(std::int32_t y) const noexcept;
  [[nodiscard]] const std::uint8_t* repeat(const std::uint8_t* in);

  Kind kind_ = Kind::kFull;
  int v_ = 1;
  int v_max_ = 1;
  std::int32_t columns_ = 0;
  std::int32_t bottom_ = 0;  ///< of the region
  std::size_t skipped_ = 0;  ///< samples of an upsampled row before the crop
  PlaneRing ring_;
  std::vector<std::uint8_t> out_;
  std::vector<std::int32_t> sources_;  ///< of kNearest: column of the region for each pixel
};

}  // namespace framewire::tensor
