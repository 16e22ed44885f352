// Sockets that wait for connections.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <service/http/endpoint.hpp>
#include <string>
#include <string_view>

namespace framewire::service::http {

/// A socket's file, as it was when it was made: another server may have put its own in its place.
struct BoundPath {
  std::string path;  ///< empty for TCP
  dev_t device = 0;
  ino_t inode = 0;
};

/// Deletes the file, if it still is that one.
void remove_bound_path(const BoundPath& file) noexcept;

/// A socket that listens, with what it listens on.
struct ListeningSocket {
  base::FileDescriptor fd;
  int family = 0;
  std::string name;  ///< "127.0.0.1:8080", "[::1]:8080" or "unix:PATH", with the real port;
                     ///< with "tls:" in front where TLS is spoken
  BoundPath bound;   ///< to be deleted at the end
  bool tls = false;
  bool inherited = false;  ///< handed over by whoever started the program, who keeps it open
};

/// Opens one. TCP sockets can share their port with those of other threads (SO_REUSEPORT), but the
/// first one has it alone: another server at the same port is an error, not a partner. A socket's
/// file that nobody listens on is replaced; its permissions are 0660 less what the umask takes.
/// @param joins  a socket of this server has the port already
/// @return io_error about the endpoint, with the system's reason; busy for a shortage
[[nodiscard]] Result<ListeningSocket> open_listener(const Endpoint& endpoint, bool joins = false);

/// A socket that whoever started the program opened: it is checked and named, never deleted. A TCP
/// socket is shared by all threads.
/// @param fd    taken over
/// @param what  names it in errors
/// @return invalid_input where it is no listening stream socket of IPv4, IPv6 or Unix
[[nodiscard]] Result<ListeningSocket> adopt_listener(base::FileDescriptor fd,
                                                     const std::string& what);

/// The same socket under a descriptor of its own. @return busy where none is left
[[nodiscard]] Result<ListeningSocket> duplicate(const ListeningSocket& socket);

}  // namespace framewire::service::http
