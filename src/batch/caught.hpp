// Exceptions of others' code, as errors.
#pragma once

#include <exception>
#include <framewire/status.hpp>
#include <new>

namespace framewire::batch {

/// Calls what returns a Result.
/// @return busy for std::bad_alloc, internal for whatever else it throws
template <typename Call>
auto caught(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return fail(StatusCode::kBusy, "memory ran out");
  } catch (const std::exception& error) {
    return fail(StatusCode::kInternal, error.what());
  } catch (...) {
    return fail(StatusCode::kInternal, "an exception that says nothing was thrown");
  }
}

}  // namespace framewire::batch
