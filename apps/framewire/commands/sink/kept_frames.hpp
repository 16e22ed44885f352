// Frames that an earlier sink has kept in the same folder.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <string>

namespace framewire::app {

/// The highest connection number in the names of a folder's frames, CONNECTION-SEQUENCE.jpg or
/// .y4m; 0 where there is none, and the time in seconds where the folder may be written to and not
/// read. Reads names alone, of up to ten million entries.
/// @return io_error; too_large for more entries, and where no number is left
[[nodiscard]] Result<std::uint64_t> last_connection_in(const std::string& folder);

}  // namespace framewire::app
