// Output shards in a folder.
#pragma once

#include <cstdint>
#include <dataset/shard_output.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace framewire::dataset {

/// Device and inode of files.
using FileSet = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// Folders of outputs, and what holds for all of them.
struct FolderOutputsOptions {
  std::string outputs;
  std::string manifests;
  std::optional<std::uint32_t> mode;  ///< of files, whatever the inputs'; nine bits
  FileSet inputs;                     ///< files that no output replaces
};

/// Writes each shard to a temporary file, in large pieces, and its rows to another; commit() gives
/// both their names, the manifest's last. What a process that dies leaves is deleted by a later
/// batch that resumes. While an output is open no other process writes a shard of that name to that
/// folder, where the file system has locks. Makes missing folders.
/// @return io_error; denied where a folder is a link that another user owns
[[nodiscard]] Result<std::unique_ptr<ShardOutputs>> open_folder_outputs(
    FolderOutputsOptions options);

}  // namespace framewire::dataset
