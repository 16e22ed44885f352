// Where messages and frames lie: "host" or "cuda:N".
#pragma once

#include <framewire/transport.hpp>
#include <string>
#include <transport/memory_place.hpp>

namespace framewire::app {

using transport::MemoryPlace;

/// @param text  "host" or "cuda:N"; empty is host
/// @return invalid_input for other words; for a device that this machine does not
///         have; unsupported where it has none
[[nodiscard]] Result<MemoryPlace> find_place(const std::string& text);

/// Tells a session where this end's memory lies.
void place_at(transport::SessionOptions& options, const MemoryPlace& place);

}  // namespace framewire::app
