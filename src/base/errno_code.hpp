// Whose errors of system calls are: one table for all who hand them on.
#pragma once

#include <cerrno>
#include <framewire/status.hpp>

namespace framewire::base {

/// Whether a call failed since this process or this machine is short of what others give back:
/// descriptors, memory, room in the kernel's queues, threads, processes. EAGAIN is of those that
/// start threads and processes; whoever calls what does not block looks at it before.
[[nodiscard]] constexpr bool is_shortage(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

/// busy for a shortage, which passes; io_error for all else, which somebody has to look at.
[[nodiscard]] constexpr StatusCode code_of_errno(int error) noexcept {
  return is_shortage(error) ? StatusCode::kBusy : StatusCode::kIoError;
}

}  // namespace framewire::base
