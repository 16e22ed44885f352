// The greeting on an authenticated connection: both ends agree on a link that carries the data.
#pragma once

#include <base/clock.hpp>
#include <memory>
#include <transport/session/session.hpp>
#include <transport/wire/stream.hpp>

namespace framewire::transport::session {

/// The side that has connected: says which links it can do, and joins the one that the server
/// chooses.
/// @return what the server refused with, or the link failed with; invalid_input, unsupported,
///         peer_lost, deadline
[[nodiscard]] Result<Joined> greet_as_client(std::unique_ptr<wire::ByteStream> stream,
                                             const SessionOptions& options,
                                             base::Clock::time_point deadline);

/// The side that has accepted: chooses a link of those that the client can do, and joins it. Blocks
/// its own thread only; any number may run at once.
/// @return as greet_as_client(); unsupported where no link is common to both
[[nodiscard]] Result<Joined> greet_as_server(std::unique_ptr<wire::ByteStream> stream,
                                             const SessionOptions& options,
                                             base::Clock::time_point deadline);

}  // namespace framewire::transport::session
