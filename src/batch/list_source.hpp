// How entries of a list are named.
#pragma once

#include <framewire/status.hpp>
#include <string>

namespace framewire::batch {

/// The name below the output folder of a list's entry: as it is written, without a leading slash;
/// where it has "/./", what follows the last one, as rsync --relative has it.
/// @return invalid_input, about the entry, for one that leads out of the current folder
[[nodiscard]] Result<std::string> name_in_list(const std::string& entry);

}  // namespace framewire::batch
