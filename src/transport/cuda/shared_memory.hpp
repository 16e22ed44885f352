// Device memory that another process maps, by file descriptor.
#pragma once

#include <memory>
#include <transport/device.hpp>

namespace framewire::transport::cuda {

/// Memory made for sharing: cuMemCreate's allocations are counted by the driver across processes,
/// unlike cudaMalloc's under CUDA IPC, whose end is undefined while another process has them open.
/// Not zeroed. @return as DeviceMemory::share()
[[nodiscard]] Result<std::unique_ptr<SharedMemory>> make_shared(int device, std::size_t bytes);

/// @return as DeviceMemory::import()
[[nodiscard]] Result<std::unique_ptr<SharedMemory>> import_shared(int owner, int user, int fd,
                                                                  std::size_t bytes);

}  // namespace framewire::transport::cuda
