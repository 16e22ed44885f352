// Where a file lies, whatever path led to it.
#pragma once

#include <cstdint>
#include <framewire/status.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace framewire::batch {

/// A file system and the path in it: free of links, of ".." and of mounts, bind mounts included.
struct Location {
  std::uint64_t filesystem = 0;
  std::string path;  ///< begins with '/'
};

/// Whether `inner` is `folder`, or lies below it.
[[nodiscard]] bool holds(const Location& folder, const Location& inner);

/// Finds locations by what procfs tells of open files. Where there is no procfs, mounts are taken
/// for file systems of their own. Any thread.
class Locator {
 public:
  Locator();
  /// @param file  any descriptor, also of O_PATH. @return io_error
  [[nodiscard]] Result<Location> of(int file, const std::string& path) const;

 private:
  struct Mount {
    std::uint64_t filesystem = 0;
    std::string root;   ///< of the mount, in its file system
    std::string point;  ///< where it is mounted
  };
  using Mounts = std::map<std::uint64_t, Mount>;
  [[nodiscard]] static Mounts read_mounts();
  [[nodiscard]] std::shared_ptr<const Mounts> mounts_with(std::uint64_t id) const;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Mounts> mounts_;
};

}  // namespace framewire::batch
