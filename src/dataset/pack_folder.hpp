// Packed shards in a folder.
#pragma once

#include <cstdint>
#include <dataset/pack_output.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <string>

namespace framewire::dataset {

/// Where in a file system packed shards go.
struct PackFolderOptions {
  ShardPattern pattern;
  std::string manifests;              ///< folder of the shards' manifests
  std::optional<std::uint32_t> mode;  ///< of both files, whatever the inputs'; nine bits
  bool resume = false;                ///< what dead processes have left is deleted
};

/// Writes both files under temporary names, flushes them to the disk, and gives them their names,
/// the shard's last: a shard without its manifest is never seen, and a manifest without its shard
/// is one that a later batch of this pattern may replace. One process at a time has a pattern,
/// where the file system has locks; without them the second to give a name is refused.
/// @return busy where another process packs by this pattern; io_error; denied for another user's
///         link
[[nodiscard]] Result<std::unique_ptr<PackOutputs>> open_pack_folder(
    const PackFolderOptions& options);

}  // namespace framewire::dataset
