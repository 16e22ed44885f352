// Reading one input: its identity first, its bytes only when they are wanted.
#pragma once

#include <base/file_descriptor.hpp>
#include <batch/input_error.hpp>
#include <batch/permissions.hpp>
#include <batch/posix_file.hpp>
#include <cstdint>
#include <framewire/batch/files.hpp>
#include <framewire/status.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

  /// @return too_large for more than `limit` bytes
  [[nodiscard]] Result<void> check_size(std::uint64_t limit) const;
  /// Reads bytes() bytes from the start; what the file has grown by since open() is left out.
  /// @param into  as many
  /// @return io_error, also where the file has become shorter
  [[nodiscard]] Result<void> read_into(std::span<std::uint8_t> into) const;

  /// Reads from the start to the end of the file, which may have grown since open().
  /// @return too_large beyond `limit` bytes, before anything is allocated where the size is known;
  ///         io_error
  [[nodiscard]] Result<std::vector<std::uint8_t>> read(std::uint64_t limit) const;

  /// Reads on, as OpenInput::read().
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::uint8_t> into) const;

 private:
  InputFile() = default;
  base::FileDescriptor file_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::int64_t mtime_ns_ = 0;
  Permissions permissions_;
};

/// A file as a batch's input.
class OpenFile final : public OpenInput {
 public:
  explicit OpenFile(InputFile file)
      : file_(std::move(file)), facts_{file_.bytes(), file_.mtime_ns(), {}, file_.permissions()} {}
  [[nodiscard]] const InputFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::size_t> read(std::span<std::uint8_t> into) override {
    return file_.read_some(into);
  }
  [[nodiscard]] const InputFile& file() const noexcept { return file_; }

 private:
  const InputFile file_;
  const InputFacts facts_;
};

/// A source of files whose labels are their paths, and which sees to their names by itself.
class FileSource : public Source {
 public:
  [[nodiscard]] Result<std::unique_ptr<OpenInput>> open(const Input& input) const final {
    return open_input_file(input.label);
  }
  [[nodiscard]] bool checks_names() const noexcept final { return true; }
};

/// Reads a stream such as standard input to its end.
/// @param name  for error messages
/// @return too_large beyond `limit` bytes; io_error
[[nodiscard]] Result<std::vector<std::uint8_t>> read_stream(int fd, const std::string& name,
                                                            std::uint64_t limit);

}  // namespace framewire::batch
