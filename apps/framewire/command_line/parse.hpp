// From the command line to a command and its arguments.
#pragma once

#include <command_line/command.hpp>
#include <optional>
#include <string>

namespace framewire::app {

struct ParsedCommand {
  const Command* command = nullptr;
  Arguments arguments;
  std::optional<int> exit;  ///< help was shown, or a usage error reported: nothing to run
};

/// Parses with CLI11; options come from the commands' tables, values are checked by their rows.
[[nodiscard]] ParsedCommand parse_command_line(int count, const char* const* words);

/// Whether the words ask for a report in JSON, also where they make no sense otherwise.
[[nodiscard]] bool asks_for_json(int count, const char* const* words);

}  // namespace framewire::app
