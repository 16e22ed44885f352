// Where the service listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// An address in text, split: a name of the file system, or a host's address with a port.
struct Endpoint {
  std::string unix_path;  ///< empty for TCP
  std::string address;    ///< numeric, without brackets
  std::uint16_t port = 0;
  bool tls = false;  ///< TLS is spoken there
};

/// Reads ADDRESS:PORT, [IPV6]:PORT, :PORT (127.0.0.1) and unix:PATH, and each of them with "tls:"
/// in front. Names are not looked up.
/// @return nothing for anything else; a path of a socket has at most 107 bytes
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace framewire::service::http
