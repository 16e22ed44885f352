// What the library's own callers may tell a client of its retries.
#pragma once

#include <framewire/client.hpp>

namespace framewire::client {

struct Retries {
  /// From now on a lost server is not looked for: what it has not answered is answered soon, with
  /// peer_lost, and what waits for the next server with busy. Thread-safe.
  static void stop(Client& client) noexcept;
};

}  // namespace framewire::client
