// The files that outputs are before they have their names.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/posix_file.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/batch/files.hpp>
#include <framewire/status.hpp>
#include <string>
#include <string_view>

namespace framewire::batch {

/// A new, empty file that nobody else may read, locked (flock) while it lives, so that
/// remove_stale_temporaries() of another process leaves it alone. Deleted unless kept, at the
/// latest by remove_live_temporaries().
class TemporaryFile {
 public:
  /// @param folder  must stay open as long as this lives
  /// @return the file, or an invalid one with errno set
  [[nodiscard]] static TemporaryFile make(int folder);
  /// A file whose name other processes know, locked, for work that only one of them should do. One
  /// that a dead process has left is taken over. Where the file system has no locks, a file like
  /// make()'s, which keeps nobody away.
  /// @param label  what claim_name() is made of
  /// @return the file, or an invalid one with errno set: EWOULDBLOCK where another process, or
  ///         another claim of this one, has it
  [[nodiscard]] static TemporaryFile claim(int folder, const std::string& label);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  [[nodiscard]] bool valid() const noexcept { return file_.valid(); }
  [[nodiscard]] int get() const noexcept { return file_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The file has another name now: nothing is left to delete.
  void keep() noexcept;

 private:
  TemporaryFile() = default;
  int folder_ = -1;
  std::string name_;
  base::FileDescriptor file_;
  std::size_t slot_ = 0;
};

/// The name of a claim. Of a long label it has a hash.
[[nodiscard]] std::string claim_name(std::string_view label);

/// Deletes temporary files of processes that died, in `folder` and below; follows no links. Those
/// of other hosts, whose locks may not be seen here, once nobody has written to them for an hour.
/// @return how many were deleted; io_error where the folder exists and cannot be read
[[nodiscard]] Result<std::uint64_t> remove_stale_temporaries(const std::string& folder);

}  // namespace framewire::batch
