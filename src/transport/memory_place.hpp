// Where memory lies: on the host, or on a GPU.
#pragma once

#include <cstddef>
#include <framewire/transport.hpp>

namespace framewire::transport {

struct MemoryPlace {
  DeviceMemory* devices = nullptr;  ///< null: the host
  int device = -1;

  /// Memory there. @return busy; device_lost
  [[nodiscard]] Result<Region> allocate(std::size_t bytes) const {
    return devices != nullptr ? Region::allocate_device(*devices, device, bytes)
                              : Region::allocate_host(bytes);
  }
};

}  // namespace framewire::transport
