// Where a path leads: an open folder, and a name in it.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <framewire/status.hpp>
#include <string>

namespace framewire::batch {

/// A file's folder, held open, and its name there, whether or not the file exists. What is done by
/// these two cannot be led elsewhere by renaming folders or planting links.
struct FilePlace {
  base::FileDescriptor folder;
  std::string name;
  /// The name is a link of procfs, such as /dev/stdout leads to: to be opened as it is.
  bool magic = false;
};

/// Follows links in the last part of `path`, as cp does, but only those that this process's user or
/// root owns: a link that another user has planted would lead our writing to a file of his choice.
/// Links in the folders before it are the system's to follow.
/// @return io_error where a folder is missing or links lead in a circle; denied for a link that
///         another user owns
[[nodiscard]] Result<FilePlace> find_file_place(const std::string& path);

/// Opens the folder that `path` names, by the same rule for a link in its last part.
[[nodiscard]] Result<base::FileDescriptor> open_folder_of_ours(const std::string& path);

}  // namespace framewire::batch
