// Addresses of sockets that lie in the file system.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <cstring>
#include <optional>
#include <string_view>

namespace framewire::base {

/// @return nothing for a path that no socket can have: an empty one, one with NUL, which names no
///         place in the file system, or one of 108 bytes and more
[[nodiscard]] inline std::optional<sockaddr_un> unix_address(std::string_view path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace framewire::base
