// The manifest: a file of rows, one JSON object a line, that outlives any death of the program.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <batch/row.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <mutex>
#include <string>
#include <vector>

namespace framewire::batch {

enum class OpenManifest : std::uint8_t {
  kNew,     ///< refuses a file that has content
  kResume,  ///< continues the file, if there is one
};

/// Appends rows. Each row is one write() to a file opened for appending, so that a row is lost or
/// torn only with the machine, and several processes may share one manifest.
class ManifestWriter {
 public:
  /// Opens the file, making it and its folder where missing; kResume cuts a torn last line off. A
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
};

/// What a manifest says is done, for --resume. Memory: 24 bytes a row while in use, up to three
/// times that while it is read.
class DoneIndex {
 public:
  /// Reads a manifest; lines that are no rows are passed over. A missing file is an empty index.
  /// @return io_error
  [[nodiscard]] static Result<DoneIndex> read(const std::string& path);

  /// Whether the latest row of `name` is an output of these options, from an input of this size and
  /// time, that has this size.
  [[nodiscard]] bool done(const DoneRow& wanted) const;

  /// Whether the latest row of `name` is an output, whatever of.
  [[nodiscard]] bool made(const std::string& name) const;

  /// The same as done() by the input's content, for files whose time changed.
  [[nodiscard]] bool done_by_content(const DoneRow& wanted) const;

 private:
  struct Entry {
    std::uint64_t name = 0;
    std::uint64_t by_time = 0;
    std::uint64_t by_content = 0;  ///< 0: not done, or never read
  };
  [[nodiscard]] const Entry* find(const std::string& name) const;
  [[nodiscard]] static Entry entry_of(const DoneRow& row);
  void keep_latest();
  std::vector<Entry> entries_;  ///< sorted by name
};

}  // namespace framewire::batch
