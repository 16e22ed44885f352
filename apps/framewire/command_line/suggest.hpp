// Finds what a mistyped word may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace framewire::app {

/// Letters to put in, take out or replace until one word is the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word nearest to `typed` by edits of single letters, if it is near; otherwise "".
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> words);

}  // namespace framewire::app
