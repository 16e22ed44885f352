// Which file an open file is, and through which mount it was reached.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <string>
#include <string_view>

namespace framewire::batch {

/// Bind mounts have the device of what they show: only the mount tells them apart.
struct Identity {
  std::uint64_t device = 0;  ///< as st_dev
  std::uint64_t inode = 0;
  std::uint64_t mount = 0;  ///< the device where the kernel does not say
};

/// @param path  for messages
/// @return io_error
[[nodiscard]] Result<Identity> identify(int file, const std::string& path);

/// About an output that would be written to another mount than that of its output folder.
/// @param path  of the output
/// @param part  the folder that is a mount
[[nodiscard]] Status leads_to_mount(const std::string& path, std::string_view part);

}  // namespace framewire::batch
