// Quantised coefficients in host memory: what entropy decoding leaves, for codecs that go on from
// it.
#pragma once

#include <cstdint>
#include <vector>

namespace framewire::codec {

/// All blocks of one component, without those that only fill up MCUs.
struct CoefficientPlane {
  std::int32_t width_blocks = 0;   ///< ⌈component width / 8⌉
  std::int32_t height_blocks = 0;  ///< ⌈component height / 8⌉
  /// [height_blocks][width_blocks][64], natural order, not dequantised, DC as a value and no
  /// difference; zero where no scan delivered anything.
  std::vector<std::int16_t> coefficients;
};

/// One a component, in the frame's order.
struct Coefficients {
  std::vector<CoefficientPlane> components;
};

}  // namespace framewire::codec
