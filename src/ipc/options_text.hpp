// Options as text, one to parse and one to write, and whether two are the same.
#pragma once

#include <framewire/options.hpp>
#include <framewire/status.hpp>
#include <string_view>

namespace framewire::ipc {

/// The inverse of to_string(ResizeOptions). @param text  kMaxOptionsBytes at most
/// @return invalid_input as set_option()
[[nodiscard]] Result<ResizeOptions> parse_options(std::string_view text);

/// Whether all fields are equal; quicker than comparing texts.
[[nodiscard]] bool same_options(const ResizeOptions& one, const ResizeOptions& other) noexcept;

}  // namespace framewire::ipc
