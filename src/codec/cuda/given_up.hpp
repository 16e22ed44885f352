// Which images of a batch the device has given up.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Whether the CPU must take an image. Every later stage asks this first: earlier stages have left
/// the image's memory unwritten.
/// @tparam View  arguments of any stage: `status` is [images] of StatusBit
template <typename View>
FW_HD bool given_up(const View& batch, std::uint32_t image) {
  return batch.status[image] != 0;
}

}  // namespace framewire::codec::cuda
