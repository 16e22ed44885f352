// What a command line has wrong, as a value.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <utility>

namespace framewire::app {

/// An error that only other arguments would change. A command meets it while it reads its
/// arguments, before any work, and hands it to report_usage().
[[nodiscard]] inline tl::unexpected<Status> misuse(std::string message) {
  return fail(StatusCode::kInvalidInput, std::move(message));
}

}  // namespace framewire::app
