// Connecting to a server on the same machine.
#pragma once

#include <base/clock.hpp>
#include <chrono>
#include <client/local_connection.hpp>
#include <client/silence.hpp>
#include <framewire/client.hpp>
#include <memory>
#include <stop_token>
#include <string>

namespace framewire::client {

/// Where a server on this machine is, and what a client asks of it.
struct LocalPlace {
  std::string path;
  ClientOptions options;
  std::chrono::milliseconds patience = kServerPatience;  ///< with a server that is silent
};

/// Connects and greets.
/// @param stop  ends the wait for the server soon
/// @return as Client::connect()
[[nodiscard]] Result<std::shared_ptr<LocalConnection>> open_connection(
    const LocalPlace& place, base::Clock::time_point deadline, HoldBack hold_back,
    const std::stop_token& stop = {});

}  // namespace framewire::client
