// Small files that appear whole or not at all.
#pragma once

#include <framewire/status.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace framewire::app {

/// Replaces what a file holds, by renaming another over it. @return io_error
[[nodiscard]] Result<void> write_whole_file(const std::string& path, std::string_view text);

/// Keeps a slip of the hand from replacing another file, a picture say.
/// @param is_ours  told the file's beginning, up to 4 KB
/// @return invalid_input where there is a file that is neither empty nor ours, or what is no
///         regular file; io_error
[[nodiscard]] Result<void> check_replaceable(const std::string& path,
                                             const std::function<bool(std::string_view)>& is_ours);
/// What check_replaceable() refuses.
[[nodiscard]] Status is_another_kind(const std::string& path);

}  // namespace framewire::app
