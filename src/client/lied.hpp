// A server that says what no server would.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::client {

inline constexpr std::string_view kCannotBe = "the server's answer cannot be: ";

/// @param what  cannot be, of what the server sent
/// @return peer_lost
[[nodiscard]] inline tl::unexpected<Status> lied(std::string what) {
  return fail(StatusCode::kPeerLost, std::string(kCannotBe) + std::move(what));
}
/// Whether an error is lied()'s: who said so once is not asked again.
[[nodiscard]] inline bool is_lie(const Status& error) {
  return error.code() == StatusCode::kPeerLost && error.message().starts_with(kCannotBe);
}

}  // namespace framewire::client
