// Where messages and frames lie: "host" or "cuda:N".
#pragma once

#include <cstdint>
#include <framewire/transport.hpp>
#include <string>

namespace framewire::app {

struct Place {
  transport::DeviceMemory* devices = nullptr;  ///< null: host memory
  int device = -1;
};

/// @param text  "host" or "cuda:N"; empty is host
/// @return invalid_input for other words; unsupported where there is no such device
[[nodiscard]] Result<Place> find_place(const std::string& text);

/// Memory there. @return busy; device_lost
[[nodiscard]] Result<transport::Region> allocate(const Place& place, std::uint64_t bytes);

/// Tells a session where this end's memory lies.
void place_at(transport::SessionOptions& options, const Place& place);

}  // namespace framewire::app
