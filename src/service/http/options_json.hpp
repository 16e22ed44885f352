// What GET /v1/options answers.
#pragma once

#include <service/http/settings.hpp>
#include <string>

namespace framewire::service::http {

/// The options that requests may use, with the service's defaults, and whether uploads are taken.
[[nodiscard]] std::string options_json(const ServiceSettings& settings);

}  // namespace framewire::service::http
