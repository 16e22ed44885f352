// How long a frame was on its way.
#pragma once

#include <cstdint>

namespace framewire::app {

/// Milliseconds between two moments, both in nanoseconds since 1970. The sender says one of them
/// and may say anything: differences beyond 64 bits are rounded, too.
[[nodiscard]] constexpr float latency_ms(std::int64_t sent_ns, std::int64_t received_ns) noexcept {
  // Unsigned numbers wrap around, so that each branch is exact.
  const auto sent = static_cast<std::uint64_t>(sent_ns);
  const auto received = static_cast<std::uint64_t>(received_ns);
  return received_ns >= sent_ns ? static_cast<float>(received - sent) / 1e6F
                                : -static_cast<float>(sent - received) / 1e6F;
}

}  // namespace framewire::app
