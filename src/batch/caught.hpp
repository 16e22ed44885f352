// Exceptions of others' code, as errors.
#pragma once

#include <base/no_memory.hpp>
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
    return fail(base::no_memory());
  } catch (const std::exception& error) {
    return fail(base::status_of(StatusCode::kInternal, error.what()));
  } catch (...) {
    return fail(
        base::status_of(StatusCode::kInternal, "an exception that says nothing was thrown"));
  }
}

}  // namespace framewire::batch
