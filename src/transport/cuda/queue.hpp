// Copies on streams of their own, and marks on streams of the user's.
#pragma once

#include <memory>
#include <transport/cuda/pools.hpp>
#include <transport/device.hpp>

namespace framewire::transport::cuda {

/// Makes a queue of the pools' device. @return busy, device_lost
[[nodiscard]] Result<std::unique_ptr<CopyQueue>> make_copy_queue(Pools& pools);
/// @param stream  of the pools' device @return device_lost
[[nodiscard]] Result<std::unique_ptr<Mark>> make_mark(CudaStream stream, Pools& pools);

}  // namespace framewire::transport::cuda
