// Errors where memory has run out: to make one allocates nothing.
#pragma once

#include <framewire/status.hpp>
#include <new>

namespace framewire::base {

/// @param code  busy, or peer_lost of what ended for want of memory
[[nodiscard]] inline Status no_memory(StatusCode code = StatusCode::kBusy) noexcept {
  return {code, "memory ran out"};  // short enough for the string itself
}

/// A status of that message; where there is no memory for it, no_memory() of its code.
[[nodiscard]] inline Status status_of(StatusCode code, const char* message) noexcept try {
  return {code, message};
} catch (const std::bad_alloc&) {
  return no_memory(code);
}

/// A copy; where there is no memory for it, no_memory() of its code.
[[nodiscard]] inline Status copy_of(const Status& status) noexcept try {
  return status;
} catch (const std::bad_alloc&) {
  return no_memory(status.code());
}

/// Calls what returns a Result. @return no_memory() where it throws std::bad_alloc
template <typename Call>
[[nodiscard]] auto unless_memory_runs_out(Call call) -> decltype(call()) try {
  return call();
} catch (const std::bad_alloc&) {
  return fail(no_memory());
}

}  // namespace framewire::base
