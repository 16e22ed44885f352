// The manifest: a file of rows, one JSON object a line, that outlives any death of the program.
#pragma once

#include <base/file_descriptor.hpp>
#include <framewire/batch/files.hpp>
#include <framewire/status.hpp>
#include <mutex>
#include <string>

namespace framewire::batch {

/// Appends rows. Each row is one write() to a file opened for appending, so that a row is lost or
/// torn only with the machine, and several processes may share one manifest.
class ManifestWriter {
 public:
  /// Opens the file, making it and its folder where missing; kResume cuts a torn last line off,
  /// or ends it where another process has the manifest open. A
  /// file whose first line is no row is left as it is. Links as find_file_place() has them.
  /// @return io_error; denied for another user's link; invalid_input where kNew finds content, or
  ///         kResume something else than rows
  [[nodiscard]] static Result<ManifestWriter> open(const std::string& path, OpenManifest mode);
  ManifestWriter(ManifestWriter&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)) {}
  ManifestWriter& operator=(ManifestWriter&&) = delete;

  /// Thread safety: any number of threads at once.
  /// @return io_error; a part of the row may remain, which readers pass over
  [[nodiscard]] Result<void> append(const Row& row);

  [[nodiscard]] FileId id() const;

 private:
  ManifestWriter(base::FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  base::FileDescriptor file_;
  std::string path_;
  std::mutex mutex_;
  bool torn_ = false;  ///< the last row may have been written in part
};

/// What a manifest says is done; lines that are no rows are passed over. A missing file is an empty
/// index. Sealed.
/// @return io_error
[[nodiscard]] Result<DoneIndex> read_done_index(const std::string& path);

}  // namespace framewire::batch
