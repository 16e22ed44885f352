// What a process that decodes strangers' files gives up.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <framewire/status.hpp>

namespace framewire::service::workers {

/// Ends this process when its service ends; no core dumps, no debuggers of the same user. Ignores
/// SIGTERM, SIGINT and SIGHUP: the service says when to end.
/// @param service  the parent
/// @return peer_lost where the service has ended already; io_error
[[nodiscard]] Result<void> tie_to_service(pid_t service);

/// Bounds this process' own memory: heap, stacks, private mappings; not what it shares.
/// Allocations beyond it fail. @param bytes  0: no bound @return io_error
[[nodiscard]] Result<void> limit_memory(std::uint64_t bytes);

/// From here on all threads of this process may compute, allocate, make threads, and use the
/// descriptors that they have. No file can be opened (EACCES). Whatever makes a socket, runs a
/// program, maps code or looks at another process ends the process with SIGSYS. Irrevocable.
/// @return unsupported where the system has no seccomp filters
[[nodiscard]] Result<void> enter_sandbox();

}  // namespace framewire::service::workers
