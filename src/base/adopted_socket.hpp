// Listening sockets that whoever started the program has opened.
#pragma once

namespace framewire::base {

/// Looks at what a descriptor is before anything is done to it.
/// @param type  such as SOCK_STREAM
/// @return its address family where it is a socket of that type that listens; else −1
[[nodiscard]] int family_of_listening(int fd, int type) noexcept;

/// Makes a socket one like our own: it never blocks, is closed in programs that this one starts,
/// and, where it is a Unix socket, takes no descriptors from its peers.
/// @return 0, or errno
[[nodiscard]] int adopt_socket(int fd, int family) noexcept;

}  // namespace framewire::base
