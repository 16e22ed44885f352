// Opening files below one folder, whatever their names say.
#pragma once

#include <base/file_descriptor.hpp>
#include <cstddef>
#include <framewire/status.hpp>
#include <service/source/sources.hpp>
#include <string>
#include <string_view>

namespace framewire::service::source {

/// The folder below which files are served; held open, so that renaming it changes nothing.
/// Thread safety: const, from any number of threads.
class FileRoot {
 public:
  /// How a path is walked.
  enum class Walk : std::uint8_t {
    kKernel,      ///< openat2(): symbolic links are followed, never out of the root
    kComponents,  ///< a folder at a time; symbolic links are refused. For kernels before 5.6, and
                  ///< sandboxes that refuse openat2()
  };

  /// @return io_error for what is no folder, or one that this user may not search
  [[nodiscard]] static Result<FileRoot> open(const std::string& folder);

  /// Opens a regular file for reading. Hidden names (that begin with a dot), folders, FIFOs,
  /// sockets and devices are kNotFound; opening never waits for whatever is at a FIFO's other end.
  /// @param path  as SourceUrl::path: begins with '/'; no empty, '.' or '..' segments
  /// @return kNotFound; kIo for what the file system refuses otherwise, kBusy where descriptors or
  ///         memory ran out
  [[nodiscard]] Fetched<base::FileDescriptor> open_file(std::string_view path) const;

  [[nodiscard]] Walk walk() const noexcept { return walk_; }
  /// For tests: as on a kernel without openat2().
  void walk_by_components() noexcept { walk_ = Walk::kComponents; }

 private:
  base::FileDescriptor root_;
  Walk walk_ = Walk::kComponents;
};

}  // namespace framewire::service::source
