// Which images of a batch the device has given up.
#pragma once

#include <base/host_device.hpp>
#include <cstdint>

namespace framewire::codec::cuda {

/// Whether an image is the CPU's: no later stage looks at what the stages before left unwritten.
/// @tparam View  of any stage: `status` is [images], a StatusBit or more each
template <typename View>
FW_HD bool given_up(const View& batch, std::uint32_t image) {
  return batch.status[image] != 0;
}

}  // namespace framewire::codec::cuda
