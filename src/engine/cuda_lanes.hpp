// Lanes on CUDA devices.
#pragma once

#include <engine/device_lanes.hpp>

namespace framewire::engine {

/// As find_devices().
[[nodiscard]] Result<std::vector<DeviceLanes>> find_cuda_devices(const EngineOptions& options);

}  // namespace framewire::engine
