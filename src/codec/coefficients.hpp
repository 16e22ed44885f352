// Quantised coefficients in host memory: what entropy decoding hands to a codec that does the rest.
#pragma once

#include <cstdint>
#include <vector>

namespace framewire::codec {

/// All dct_blocks of one component, without those that only fill up MCUs.
struct CoefficientPlane {
  std::int32_t width_blocks = 0;   ///< ⌈component width / 8⌉
  std::int32_t height_blocks = 0;  ///< ⌈component height / 8⌉
  /// [height_blocks][width_blocks][64], natural order, not dequantised. DC is the value, not the
  /// difference. Zero where no scan delivered anything.
  std::vector<std::int16_t> coefficients;
};

/// One a component, in the frame's order.
struct Coefficients {
  std::vector<CoefficientPlane> components;
};

}  // namespace framewire::codec
