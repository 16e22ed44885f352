// The rows of a manifest, from pieces of any size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::dataset {

/// Bound on a row: three texts with a name of half a megabyte, as tar may have it, escaped.
inline constexpr std::size_t kMaxRowBytes = 16u << 20;

/// Cuts text into lines. What is longer than kMaxRowBytes is no row, and passed over. Memory: one
/// row.
class RowLines {
 public:
  /// @param take  called with each line that ends in this piece, without its end
  template <typename Take>
  void add(std::string_view piece, Take take) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      keep(piece.substr(0, end));
      if (end == std::string_view::npos) return;
      piece.remove_prefix(end + 1);
      if (!std::exchange(too_long_, false)) take(std::string_view(line_));
      line_.clear();
    }
  }

 private:
  void keep(std::string_view text) {
    too_long_ = too_long_ || text.size() > kMaxRowBytes - line_.size();
    if (too_long_) {
      line_.clear();
    } else {
      line_ += text;
    }
  }

  std::string line_;
  bool too_long_ = false;
};

}  // namespace framewire::dataset
