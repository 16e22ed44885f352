// Rows of a manifest as lines of JSON: telling ours from others'.
#pragma once

#include <cstddef>
#include <framewire/batch/manifest.hpp>
#include <string_view>

namespace framewire::batch {

/// Bound on a row: three texts with a name of half a megabyte, as tar may have it, escaped.
inline constexpr std::size_t kMaxRowBytes = 16u << 20;

/// Whether a line is a row as to_json_line() writes it, and not some other JSON: it has the keys
/// that no row lacks, with values of their kinds.
[[nodiscard]] bool is_row(std::string_view line);

/// Whether a text, without a newline, is the beginning of a line that we write, and not all of it:
/// an object of JSON that is cut, whose first value is a text.
/// @param first, second  its first two keys
[[nodiscard]] bool is_cut_object(std::string_view text, std::string_view first,
                                 std::string_view second);
/// The same of a row.
[[nodiscard]] bool is_cut_row(std::string_view text);

}  // namespace framewire::batch
