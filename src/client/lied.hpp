// A server that says what no server would.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <utility>

namespace framewire::client {

/// @param what  cannot be, of what the server sent
/// @return peer_lost
[[nodiscard]] inline tl::unexpected<Status> lied(std::string what) {
  return fail(StatusCode::kPeerLost, "the server's answer cannot be: " + std::move(what));
}

}  // namespace framewire::client
