// Small files that appear whole or not at all.
#pragma once

#include <framewire/status.hpp>
#include <string>
#include <string_view>

namespace framewire::app {

/// Replaces what a file holds, by renaming another over it. @return io_error
[[nodiscard]] Result<void> write_whole_file(const std::string& path, std::string_view text);

}  // namespace framewire::app
