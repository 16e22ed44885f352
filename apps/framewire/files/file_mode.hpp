// --mode: the permissions of outputs.
#pragma once

#include <sys/types.h>
#include <command_line/command.hpp>
#include <optional>
#include <string>

namespace framewire::app {

/// Takes --mode where it is given. @return what is wrong with it, or ""
[[nodiscard]] std::string take_mode(const Arguments& arguments, std::optional<mode_t>& mode);

}  // namespace framewire::app
