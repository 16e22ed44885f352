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

}  // namespace framewire::batch
