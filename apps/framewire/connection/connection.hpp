// Options that say whom to connect to and how, alike for all commands that do.
#pragma once

#include <command_line/command.hpp>
#include <framewire/transport.hpp>
#include <string_view>

namespace framewire::app {

/// Reads --psk, --cert, --insecure, --link and the like.
[[nodiscard]] transport::SessionOptions session_of(const Arguments& arguments);

/// Whether an option says "host" or "cuda:N". @return misuse()
[[nodiscard]] Result<void> check_place(const Arguments& arguments, std::string_view option);

/// Whether the channel goes the way that --require names, if it names one.
/// @return unsupported with the way that it goes
[[nodiscard]] Result<void> check_path(const Arguments& arguments,
                                      const transport::Channel& channel);

}  // namespace framewire::app
