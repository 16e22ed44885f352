// A folder that shards or manifests go to.
#pragma once

#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <string>

namespace framewire::dataset {

/// An open folder.
struct OutputRoot {
  base::FileDescriptor folder;
  std::string path;  ///< for messages
};

/// Opens a folder, making it where missing.
/// @return io_error; denied where it is a link that another user owns
[[nodiscard]] Result<OutputRoot> open_output_root(const std::string& path);

}  // namespace framewire::dataset
