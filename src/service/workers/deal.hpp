// Which GPUs, and how much of them, each of several workers has.
#pragma once

#include <cstddef>
#include <vector>

namespace framewire::service::workers {

/// Devices are dealt: each worker has one, or where there are more of them than workers, several.
/// @param devices  ordinals; none: each worker has all that there are, which is none here, too
/// @param index    the worker's, below `workers`
[[nodiscard]] inline std::vector<int> dealt_devices(const std::vector<int>& devices,
                                                    std::size_t workers, std::size_t index) {
  std::vector<int> dealt;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool is_its =
        devices.size() >= workers ? i % workers == index : i == index % devices.size();
    if (is_its) dealt.push_back(devices[i]);
  }
  return dealt;
}

/// At most so many workers have the same device.
/// @param devices  how many are dealt; 0: each worker has all
[[nodiscard]] constexpr std::size_t workers_of_a_device(std::size_t workers, std::size_t devices) {
  return devices == 0 ? workers : (workers + devices - 1) / devices;
}

}  // namespace framewire::service::workers
