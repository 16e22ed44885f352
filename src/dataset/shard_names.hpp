// Names of shards below the output folder.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <store/object_store.hpp>
#include <string>
#include <vector>

namespace framewire::dataset {

/// A shard as it is named on the command line.
struct NamedShard {
  std::string path;
  std::string name;                           ///< below the output folder
  std::optional<store::ObjectInfo> object{};  ///< where a listing has found it in a store
};

/// How shards in files are named below the output folder: as pictures are.
enum class ShardNaming : std::uint8_t {
  kBelowFolder,  ///< by their paths below the deepest folder that holds them all
  kAsWritten,    ///< as batch::open_list() names the entries of a list
};

/// @return invalid_input for one that is named twice, or, as written, leads out of the current
///         folder
[[nodiscard]] Result<std::vector<NamedShard>> name_shards(const std::vector<std::string>& paths,
                                                          ShardNaming naming);

/// A line of a list by which a shard keeps its name below the output folder: its path, with "/./"
/// where the name begins, unless it is that anyway. The path as it is where it has another name.
[[nodiscard]] std::string list_entry(const std::string& path, const std::string& name);

}  // namespace framewire::dataset
