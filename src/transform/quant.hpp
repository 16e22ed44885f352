// Quantisation of DCT coefficients.
//
// Source: ITU-T T.81 A.3.4.
#pragma once

#include <base/host_device.hpp>
#include <cmath>
#include <cstdint>

namespace framewire::transform {

/// Coefficient × step; fits for every int16 and uint16.
FW_HD constexpr std::int32_t dequantise(std::int16_t level, std::uint16_t step) {
  return static_cast<std::int32_t>(level) * step;
}

/// Nearest multiple of `step`, halves away from zero (which is libjpeg's rounding too, so that the
/// two differ only where their transforms do). |coefficient| / step must be below 32767.
FW_HD inline std::int16_t quantise(double coefficient, std::uint16_t step) {
  const double level = std::floor(std::fabs(coefficient) / step + 0.5);
  return static_cast<std::int16_t>(coefficient < 0.0 ? -level : level);
}

}  // namespace framewire::transform
