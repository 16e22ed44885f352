// An owned file descriptor, and errno as a Status.
#pragma once

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <utility>

namespace framewire::batch {

/// Closes its descriptor; −1 is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// Identity of a file, whatever path leads to it.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// io_error about `path`: "cannot write: No space left on device".
[[nodiscard]] Status io_error(const std::string& path, std::string_view doing, int error_number);

/// Writes all bytes, whatever pieces the kernel takes. @return 0, or errno
[[nodiscard]] int write_all(int fd, std::span<const std::uint8_t> bytes) noexcept;

}  // namespace framewire::batch
