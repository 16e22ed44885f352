// Options that say whom to connect to and how, alike for all commands that do.
#pragma once

#include <command_line/command.hpp>
#include <framewire/transport.hpp>
#include <string>

namespace framewire::app {

/// Reads --psk, --cert, --insecure, --link and the like.
[[nodiscard]] transport::SessionOptions session_of(const Arguments& arguments);

/// @return what is wrong with the options that say who is who, or ""
[[nodiscard]] std::string check_security(const Arguments& arguments);

/// "host" or "cuda:N". @return what is wrong with the option's text, or ""
[[nodiscard]] std::string check_place(const Arguments& arguments, std::string_view option);

/// Whether the channel goes the way that --require names, if it names one.
/// @return unsupported with the way that it goes
[[nodiscard]] Result<void> check_path(const Arguments& arguments,
                                      const transport::Channel& channel);

}  // namespace framewire::app
