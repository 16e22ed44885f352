// Variables of the environment that look like settings of the service and are none.
#pragma once

#include <framewire/status.hpp>

namespace framewire::app {

/// A misspelt FRAMEWIRE_KEYS leaves the service open. So a variable whose name is a letter or two
/// from a setting's is an error, and so is FRAMEWIRE_CONFIG. All other unknown ones are somebody
/// else's: clusters set FRAMEWIRE_SERVICE_HOST and FRAMEWIRE_PORT_8080_TCP for a service of this
/// name.
/// @param environment  as `environ`, ends with a null pointer
/// @return invalid_input about the variable, with the name that was meant
[[nodiscard]] Result<void> check_variables(const char* const* environment);

}  // namespace framewire::app
