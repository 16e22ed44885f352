// --mode: the permissions of outputs.
#pragma once

#include <sys/types.h>
#include <command_line/command.hpp>
#include <framewire/status.hpp>
#include <optional>

namespace framewire::app {

/// The permissions that --mode gives, if it is there. @return misuse()
[[nodiscard]] Result<std::optional<mode_t>> parse_mode(const Arguments& arguments);

}  // namespace framewire::app
