// The rows of a manifest, from pieces of any size.
#pragma once

#include <batch/row.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace framewire::dataset {

using batch::kMaxRowBytes;

/// Cuts text into lines. Memory: one row.
class RowLines {
 public:
  /// @param take  called with each line that ends in this piece, without its end
  /// @return false where a line is longer than kMaxRowBytes
  template <typename Take>
  [[nodiscard]] bool add(std::string_view piece, Take take) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view text = piece.substr(0, end);
      if (text.size() > kMaxRowBytes - line_.size()) return false;
      line_ += text;
      if (end == std::string_view::npos) break;
      piece.remove_prefix(end + 1);
      take(std::string_view(line_));
      line_.clear();
    }
    return true;
  }

 private:
  std::string line_;
};

/// What add() refused. @param label  of the manifest
[[nodiscard]] Status row_is_too_long(const std::string& label);

/// Hands out the rows of a manifest in a folder, without their ends. Links are not followed, and
/// nothing is waited for.
/// @param label  of the manifest, for errors
/// @return too_large for a longer row; io_error
[[nodiscard]] Result<void> read_rows(int folder, const std::string& name, const std::string& label,
                                     const std::function<void(std::string_view)>& take);

}  // namespace framewire::dataset
