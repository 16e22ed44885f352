// Non-blocking TCP sockets.
#pragma once

#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace framewire::transport::wire {

/// "HOST:PORT", "[V6]:PORT"; the host may be empty, which means this machine alone (127.0.0.1).
struct Address {
  std::string host;
  std::uint16_t port = 0;
};
/// @return invalid_input where it is neither
[[nodiscard]] Result<Address> parse_address(std::string_view text);
/// Whether both ends would be this machine, judged by the address alone: 127/8, ::1, localhost.
[[nodiscard]] bool is_loopback(const Address& address);

/// @param stop  ends it soon, as peer_lost, unless it is the host's name that takes long
/// @return invalid_input for a host that does not resolve; peer_lost where nobody answers; deadline
[[nodiscard]] Result<base::FileDescriptor> connect_to(const Address& address,
                                                      base::Clock::time_point deadline,
                                                      const std::stop_token& stop = {});
/// While it lives, a stop shuts a socket down: whoever waits for it goes on and finds it ended.
class ShutDownOnStop {
 public:
  /// Of the socket it keeps a descriptor of its own. Without one there is no way to stop.
  ShutDownOnStop(const base::FileDescriptor& socket, const std::stop_token& stop);

 private:
  struct ShutDown {
    int fd;
    void operator()() const noexcept;
  };
  base::FileDescriptor own_;
  std::stop_callback<ShutDown> on_stop_;
};
/// @return invalid_input, io_error where the port is taken or may not be used
[[nodiscard]] Result<base::FileDescriptor> listen_on(const Address& address);
/// A client that has connected.
struct Caller {
  base::FileDescriptor socket;
  /// The address of IPv4, or the first 64 bits of that of IPv6: who has one address of IPv6 has all
  /// that share these. Bytes, not text.
  std::string origin;
};
/// Accepts the next client, if one waits. Does not block.
/// @return busy where the process or the system has no descriptor or memory left; io_error
[[nodiscard]] Result<std::optional<Caller>> accept_next(const base::FileDescriptor& listener);
/// The port that a listener got where it asked for port 0.
[[nodiscard]] std::uint16_t port_of(const base::FileDescriptor& socket);

}  // namespace framewire::transport::wire
