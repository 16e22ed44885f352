// Sockets that the service manager opened for the service: sd_listen_fds(3), without libsystemd.
#pragma once

#include <sys/types.h>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::service::systemd {

/// Not yet looked at: what it is, whoever takes it has to find out.
struct PassedSocket {
  base::FileDescriptor fd;
  std::string name;  ///< of LISTEN_FDNAMES; "unknown" without it
};

/// What is said in the environment; null where a variable is not set.
struct PassedText {
  const char* pid = nullptr;    ///< LISTEN_PID: whom it is meant for
  const char* count = nullptr;  ///< LISTEN_FDS
  const char* names = nullptr;  ///< LISTEN_FDNAMES: one each, joined by colons
};

/// Takes the sockets over; each is closed in programs that this one starts.
/// @param self   nothing is taken where LISTEN_PID is another process
/// @param first  the first descriptor
/// @return invalid_input for numbers or names that make no sense, or a descriptor that is not open;
///         at most 64 are taken
[[nodiscard]] Result<std::vector<PassedSocket>> take_sockets(const PassedText& text, pid_t self,
                                                             int first);

/// The same of this process' environment, from which it deletes the three variables. Before any
/// other thread is started, and once.
[[nodiscard]] Result<std::vector<PassedSocket>> take_sockets();

}  // namespace framewire::service::systemd
