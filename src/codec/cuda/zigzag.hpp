// The zig-zag order (T.81 figure A.6) as a function, for code that runs on host and device.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Natural position of the k-th coefficient sent: along anti-diagonal d, upwards where d is even.
FW_HD constexpr std::uint32_t natural_position(std::uint32_t k) {
  std::uint32_t diagonal = 0;
  std::uint32_t start = 0;
  for (;;) {
    const std::uint32_t length = diagonal < 8 ? diagonal + 1 : 15 - diagonal;
    if (k < start + length) break;
    start += length;
    ++diagonal;
  }
  const std::uint32_t low = diagonal < 8 ? 0 : diagonal - 7;
  const std::uint32_t step = low + (k - start);
  const std::uint32_t u = diagonal % 2 == 0 ? step : diagonal - step;
  return (diagonal - u) * 8 + u;
}

/// natural_position() as a table, for unrolled loops.
struct NaturalOrder {
  std::uint8_t at[64] = {};
  FW_HD constexpr NaturalOrder() {
    for (std::uint32_t k = 0; k < 64; ++k) at[k] = static_cast<std::uint8_t>(natural_position(k));
  }
};

}  // namespace framewire::codec::cuda
