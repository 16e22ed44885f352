// Names of shards on a command line or in a list.
#pragma once

#include <dataset/shard_names.hpp>
#include <framewire/batch/files.hpp>
#include <string>
#include <vector>

namespace framewire::app {

/// The name of an entry of a list, as batch::open_list() hands it out.
/// @param list  what messages call the list
/// @return misuse() for a name that a list cannot have, without the query of an address, which may
///         be a signature; io_error
[[nodiscard]] Result<std::string> listed_name(const batch::Input& entry, const std::string& list);

/// What a command line names: its words, or where these are a lone @LIST the names in that file,
/// one a line; @- is standard input. Braces and wildcards stay as they are.
/// @return misuse() as listed_name(), for a list without names or of more than
///         dataset::kMaxExpandedNames, and for a list beside other words; io_error
[[nodiscard]] Result<std::vector<std::string>> read_name_list(std::vector<std::string> words);

/// How the shards that words stand for are named: of a lone @LIST as they are written there.
[[nodiscard]] dataset::ShardNaming naming_of(const std::vector<std::string>& words);

}  // namespace framewire::app
