// The rows of a manifest, from pieces of any size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace framewire::dataset {

/// Bound on a row: three texts with a name of half a megabyte, as tar may have it, escaped.
inline constexpr std::size_t kMaxRowBytes = 16u << 20;

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

}  // namespace framewire::dataset
