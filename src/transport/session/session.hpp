// From an address to a channel: connecting, authentication, agreement on a link.
#pragma once

#include <framewire/status.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <transport/channel.hpp>

namespace framewire::transport::session {

/// The two parts of which a Channel is made, so that a test can put something between.
struct Joined {
  std::unique_ptr<Link> link;
  ChannelConfig config;
};

/// As transport::connect().
/// @param stop  as of wire::connect_to(), through all that is said until both ends are joined
[[nodiscard]] Result<Joined> connect(const std::string& address, const SessionOptions& options,
                                     const std::stop_token& stop = {});

}  // namespace framewire::transport::session
