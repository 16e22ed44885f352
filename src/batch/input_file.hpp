// Reading one input: its identity first, its bytes only when they are wanted.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <cstdint>
#include <framewire/status.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::batch {

/// An open regular file.
class InputFile {
 public:
  /// Never blocks: anything but a regular file is refused.
  /// @return io_error where it cannot be opened; invalid_input for folders and devices
  [[nodiscard]] static Result<InputFile> open(const std::string& path);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t mtime_ns() const noexcept { return mtime_ns_; }
  [[nodiscard]] FileId id() const noexcept { return permissions_.id; }
  [[nodiscard]] const Permissions& permissions() const noexcept { return permissions_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  /// Whether the file begins with SOI, FF D8 (ITU-T T.81 B.2.1).
  /// @return io_error
  [[nodiscard]] Result<bool> starts_like_jpeg() const;

  /// @return too_large for more than `limit` bytes
  [[nodiscard]] Result<void> check_size(std::uint64_t limit) const;
  /// Reads bytes() bytes from the start; what the file has grown by since open() is left out.
  /// @param into  as many
  /// @return io_error, also where the file has become shorter
  [[nodiscard]] Result<void> read_into(std::span<std::uint8_t> into) const;

  /// Reads from the start to the end of the file, which may have grown since open().
  /// @param reuse  memory to fill and give back, whatever it holds: fresh pages for every file cost
  ///               as much as reading it
  /// @return too_large beyond `limit` bytes, before anything is allocated where the size is known;
  ///         io_error
  [[nodiscard]] Result<std::vector<std::uint8_t>> read(std::uint64_t limit,
                                                       std::vector<std::uint8_t> reuse = {}) const;

  /// The same into memory of the caller's. @return what was read; nothing where it does not fit, or
  /// fills all of `into`, and then a later read begins at the start again
  [[nodiscard]] Result<std::optional<std::span<const std::uint8_t>>> read_within(
      std::span<std::uint8_t> into, std::uint64_t limit) const;

 private:
  InputFile() = default;
  base::FileDescriptor file_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::int64_t mtime_ns_ = 0;
  Permissions permissions_;
};

/// The same error, about a file: what it was about so far, such as a marker, joins the message.
[[nodiscard]] Status about_file(Status status, const std::string& path);

/// Reads a stream such as standard input to its end.
/// @param name  for error messages
/// @return too_large beyond `limit` bytes; io_error
[[nodiscard]] Result<std::vector<std::uint8_t>> read_stream(int fd, const std::string& name,
                                                            std::uint64_t limit);

}  // namespace framewire::batch
