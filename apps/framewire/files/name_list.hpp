// Names of shards on a command line or in a list.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <vector>

namespace framewire::app {

/// What a command line names: its words, or where these are a lone @LIST the names in that file,
/// one a line; @- is standard input. Braces and wildcards stay as they are.
/// @return misuse() for a list without names, with a name that batch would not take from a list, or
///         of more than dataset::kMaxExpandedNames; io_error
[[nodiscard]] Result<std::vector<std::string>> read_name_list(std::vector<std::string> words);

}  // namespace framewire::app
