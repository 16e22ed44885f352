// Where framewire bench serve keeps sockets and files while it runs.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <string>
#include <utility>

namespace framewire::app::bench_serve {

/// A new folder, deleted with all it holds. A run that is killed leaves its folder; the next run in
/// the same place finds that nobody holds the lock of its file `lock` any more, and removes it.
class WorkFolder {
 public:
  /// @param in  the folder to make it in @return io_error
  [[nodiscard]] static Result<WorkFolder> make(const std::string& in);
  WorkFolder(WorkFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, base::FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::FileDescriptor lock_;  ///< whose lock ends with the process, however that ends
};

/// Removes folders that killed runs of this user have left: those that WorkFolder has made and
/// whose lock is free. Follows no link, and touches nothing of another user. What cannot be removed
/// stays.
/// @return how many were removed
std::size_t remove_folders_of_dead_runs(const std::string& in);

}  // namespace framewire::app::bench_serve
