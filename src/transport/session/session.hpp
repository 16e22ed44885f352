// From an address to a channel: who is there, what both can do, which link carries the data.
#pragma once

#include <framewire/status.hpp>
#include <memory>
#include <string>
#include <vector>
#include "transport/channel.hpp"
#include "transport/wire/tls.hpp"

namespace framewire::transport {

/// Names of links, as in SessionOptions and in reports.
inline constexpr const char* kStreamLink = "stream";         ///< the control connection itself
inline constexpr const char* kUcxSharedLink = "ucx-shared";  ///< processes of one user, one machine
inline constexpr const char* kUcxTcpLink = "ucx-tcp";        ///< needs `insecure`: see make_links()

struct SessionOptions {
  wire::Security security;
  std::uint32_t capacity = 256;  ///< transfers of ours at a time, 1 to 4096
  /// Links that may be used, best first; the server's order counts. Empty: ucx-shared where both
  /// ends are processes of one user on one machine, else stream.
  std::vector<std::string> links;
  std::string ucx_device;             ///< network device that ucx-tcp is bound to
  std::uint32_t timeout_ms = 10'000;  ///< for everything from connecting to the last greeting
};

/// Two parts of which a Channel is made, so that a test can put something between.
struct Joined {
  std::unique_ptr<Link> link;
  ChannelConfig config;
};

/// Connects to a Listener.
/// @param address  "HOST:PORT"; no host means 127.0.0.1
/// @return invalid_input for options or address; denied where either side does not accept the
///         other; unsupported where no link is common to both; peer_lost; deadline
[[nodiscard]] Result<Joined> connect(const std::string& address, const SessionOptions& options);

/// Owns a listening port. One thread at a time.
class Listener {
 public:
  /// @param address  as for connect(); port 0 takes a free one
  /// @return invalid_input, io_error
  [[nodiscard]] static Result<Listener> listen(const std::string& address,
                                               const SessionOptions& options);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;

  [[nodiscard]] std::uint16_t port() const;
  /// Takes one connection through authentication and greeting.
  /// @param wait_ms  for somebody to come
  /// @return deadline where nobody came; whatever a bad or slow peer caused, after which accept()
  /// may
  ///         be called again
  [[nodiscard]] Result<Joined> accept(std::uint32_t wait_ms);

 private:
  class Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::transport
