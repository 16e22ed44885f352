// Which samples of a component a row of the frame is made of.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>
#include <tensor/cuda/descriptors.hpp>

namespace framewire::tensor::cuda {

FW_HD inline std::int32_t clamp_to(std::int32_t at, std::int32_t size) {
  return at < 0 ? 0 : at < size ? at : size - 1;
}

/// The rows of a component that a row of the frame is made of.
struct SourceRows {
  const std::uint8_t* near;
  const std::uint8_t* far;  ///< where the triangle reaches along columns
  int bias;                 ///< that rounds it, of Upsampling::k1x2
};

FW_HD inline const std::uint8_t* row_at(const ComponentSamples& c, std::int32_t y) {
  return c.plane.samples + static_cast<std::uint64_t>(clamp_to(y, c.height)) * c.plane.pitch_bytes;
}

FW_HD inline SourceRows rows_of(const ComponentSamples& c, int v_max, std::int32_t y) {
  const bool odd = y % 2 == 1;
  switch (c.upsampling) {
    case Upsampling::k1x2:
    case Upsampling::k2x2:
      return {row_at(c, y / 2), row_at(c, odd ? y / 2 + 1 : y / 2 - 1), odd ? 2 : 1};
    case Upsampling::kNearest:
      return {row_at(c, (2 * y + 1) * c.v / (2 * v_max)), nullptr, 0};
    default:
      return {row_at(c, y), nullptr, 0};
  }
}

}  // namespace framewire::tensor::cuda
