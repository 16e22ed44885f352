// What the CPU does in place of a device.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <engine/request.hpp>
#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <span>
#include <string>

namespace framewire::engine {

/// As parse_request(), of a whole file that was meant for a device by name: the report warns of
/// that, which strict refuses.
/// @param why  the device does not take it
/// @return unsupported under strict; as parse_request()
[[nodiscard]] Result<void> parse_fallback(std::span<const std::uint8_t> bytes,
                                          const ResizeOptions& options,
                                          base::Clock::time_point start, const std::string& why,
                                          Request& request);

}  // namespace framewire::engine
