// CUDA's devices for transport. Compiled and linked with the toolkit; bench/gpu_peer.sh is what
// verifies and times it on a machine with GPUs.
#pragma once

#include <transport/device.hpp>

namespace framewire::transport::cuda {

/// All that this process sees; made when first asked for, never destroyed: CUDA may be gone by the
/// time that static objects are. Thread-safe.
/// @return unsupported where there is no device or driver
[[nodiscard]] Result<DeviceMemory*> devices();

}  // namespace framewire::transport::cuda
