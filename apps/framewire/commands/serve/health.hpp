// framewire serve --health: whether a service with these settings answers.
#pragma once

#include <framewire/status.hpp>
#include <service/http/settings.hpp>

namespace framewire::app {

/// Asks for /readyz at the first address of Settings::listen without TLS, of this machine where
/// that is every address. Takes five seconds at most.
/// @return io_error where nobody answers, unsupported where every address speaks TLS, busy where
/// the answer is another than 200
[[nodiscard]] Result<void> check_health(const service::http::ServiceSettings& settings);

}  // namespace framewire::app
