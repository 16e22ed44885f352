// What a batch over pictures says about tar shards among its inputs.
#pragma once

#include <cstdint>
#include <files/inputs.hpp>
#include <framewire/batch.hpp>
#include <optional>
#include <string>

namespace framewire::app {

/// Counts the tar shards that a batch met in a folder or below a prefix, and skipped.
class SkippedShards {
 public:
  /// Takes the row of any input. One thread at a time.
  void add(const batch::Row& row);
  /// How many there were, and the command that makes shards of them; "" where there were none.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;       ///< label of the first one
  bool one_folder_ = true;  ///< all of them lie in the folder of the first one
};

/// The error of a row with what makes shards of a list added to it.
/// @return nothing where the row is not of a tar shard that was taken for a picture of a list
[[nodiscard]] std::optional<Status> with_list_hint(const batch::Row& row, const InputNames& inputs);

}  // namespace framewire::app
