// Rows of pictures that fail behind the last sample, in the manifest of a shard that is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dataset/shard_record.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace framewire::dataset {

/// A row that is not ok.
struct FailedRowLine {
  std::string name;
  std::string line;  ///< with its newline
};

/// Makes a manifest with more failures out of one that is there, line by line. Rows of earlier
/// failures under the same names are left out: a picture that is tried again and again has one row.
class LateFailures {
 public:
  /// @param rows  live as long as this
  explicit LateFailures(std::span<const FailedRowLine> rows);

  /// @param line  of the manifest that is there, without its end
  /// @return what goes to the new manifest in its place
  [[nodiscard]] std::string take(std::string_view line);
  /// Whether the manifest's record has come, which is its last line.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  const std::span<const FailedRowLine> rows_;
  std::unordered_set<std::string_view> names_;
  std::size_t replaced_ = 0;
  bool complete_ = false;
};

}  // namespace framewire::dataset
