// Finds what a mistyped word may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace framewire::app {

/// The word nearest to `typed` by edits of single letters, if it is near; otherwise "".
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> words);

}  // namespace framewire::app
