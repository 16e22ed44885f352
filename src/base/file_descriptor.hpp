// The owner of a file descriptor, whatever it stands for: a file, a folder, a socket, an event.
#pragma once

#include <unistd.h>
#include <utility>

namespace framewire::base {

/// Owns a descriptor and closes it; −1 stands for none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// @param fd  taken over; negative, as a failed call returns it, is none
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  /// Closes it.
  void reset() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// Gives it to the caller, who closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace framewire::base
