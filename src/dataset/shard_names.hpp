// Names of shards below the output folder.
#pragma once

#include <framewire/status.hpp>
#include <optional>
#include <store/object_store.hpp>
#include <string>
#include <vector>

namespace framewire::dataset {

/// A shard as it is named on the command line.
struct NamedShard {
  std::string path;
  std::string name;  ///< below the output folder: as batch::open_files() names it
  std::optional<store::ObjectInfo> object{};  ///< where a listing has found it in a store
};

/// Names shards by their paths below the deepest folder that holds them all.
/// @return invalid_input for one that is named twice
[[nodiscard]] Result<std::vector<NamedShard>> name_shards(const std::vector<std::string>& paths);

}  // namespace framewire::dataset
