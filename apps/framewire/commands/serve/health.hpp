// framewire serve --health: whether a service with these settings answers.
#pragma once

#include <framewire/status.hpp>
#include <service/http/settings.hpp>

namespace framewire::app {

/// Asks for /readyz at the first address of Settings::listen without TLS, else at the first one, of
/// this machine where that is every address. Takes five seconds at most.
/// @return io_error where nobody answers, or the answer is another than 200
[[nodiscard]] Result<void> check_health(const service::http::ServiceSettings& settings);

}  // namespace framewire::app
