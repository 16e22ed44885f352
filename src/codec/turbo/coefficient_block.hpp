// One block of quantised coefficients, as the inverse transforms take it.
#pragma once

#include <array>
#include <cstdint>
#include <jpeg/types.hpp>

namespace framewire::codec::turbo {

/// Natural order. Aligned for libjpeg-turbo's vector code.
struct alignas(64) CoefficientBlock {
  std::array<std::int16_t, jpeg::kBlockSize> at{};
};

}  // namespace framewire::codec::turbo
