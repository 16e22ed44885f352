// Whether two GPUs are joined by NVLink, as NVML says.
#pragma once

namespace framewire::transport::cuda {

/// @param from, to  PCI addresses as CUDA writes them: "0000:1b:00.0"
/// @return false also where NVML cannot be asked
[[nodiscard]] bool joined_by_nvlink(const char* from, const char* to);

}  // namespace framewire::transport::cuda
