// framewire serve --check: whether the service could start, without starting it.
#pragma once

#include <framewire/status.hpp>
#include <service/http/settings.hpp>
#include <string>
#include <vector>

namespace framewire::app {

/// Whether the authorities of --origin-ca can be read. Who fetches reads the file at each
/// connection, and would learn only there that it cannot.
/// @return io_error; invalid_input for a file without a certificate in PEM
[[nodiscard]] Result<void> check_origin_ca(const service::http::ServiceSettings& settings);

/// Looks at every file and folder that the settings name, and at what the settings alone do not
/// tell of sources. Makes nothing, listens nowhere and starts no engine of the service's.
/// @return sentences about what is odd but works; the error that the start would end with
[[nodiscard]] Result<std::vector<std::string>> check_settings(
    const service::http::ServiceSettings& settings);

}  // namespace framewire::app
