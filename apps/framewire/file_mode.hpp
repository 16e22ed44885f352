// --mode: the permissions of outputs.
#pragma once

#include <sys/types.h>
#include <optional>
#include <string>
#include "command.hpp"

namespace framewire::app {

/// Takes --mode where it is given. @return what is wrong with it, or ""
[[nodiscard]] std::string take_mode(const Arguments& arguments, std::optional<mode_t>& mode);

}  // namespace framewire::app
