// Whether the options that say who is who can be used, before anybody connects.
#pragma once

#include <command_line/command.hpp>
#include <optional>
#include <string_view>

namespace framewire::app {

/// Which end of a connection a command is.
enum class ConnectionEnd { kConnects, kListens };

/// Checks --psk, --cert, --key, --ca, --insecure and what goes with them, their files included.
/// @return nothing where they can be used; otherwise the error has been told, and this is the exit
///         code: kUsage, or kEnvironment for a file that cannot be read or may be read by others
[[nodiscard]] std::optional<int> refuse_security(std::string_view command,
                                                 const Arguments& arguments, ConnectionEnd end);

/// Whether the text is an address. @param what  "--listen", or the argument's name
/// @return misuse()
[[nodiscard]] Result<void> check_address(std::string_view what, const std::string& text);

}  // namespace framewire::app
