// A listening socket in the file system.
#pragma once

#include <sys/types.h>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <string>

namespace framewire::service::local {

/// Owns a listening SOCK_SEQPACKET socket and its file, which it deletes, unless it was
/// adopted or somebody else has put another one there.
class SocketFile {
 public:
  /// @param path  of at most 107 bytes. A socket there on which nobody listens, of our user's, is
  ///              replaced; nothing else is
  /// @param mode  permission bits of the file: who may write may connect
  /// @return invalid_input for a path or mode that cannot be; busy where a server listens there
  ///         already; io_error
  [[nodiscard]] static Result<SocketFile> listen(const std::string& path, mode_t mode);
  /// Whether listen() could take that name, as far as that shows without listening: its length, and
  /// what is there already. Makes nothing. @return as listen()
  [[nodiscard]] static Result<void> check(const std::string& path, mode_t mode);
  /// A socket that whoever started the program opened. Its file stays.
  /// @param fd  taken over
  /// @return invalid_input where it is no listening SOCK_SEQPACKET socket of Unix
  [[nodiscard]] static Result<SocketFile> adopt(base::FileDescriptor fd);
  ~SocketFile();
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Deletes the file and listens no more.
  void close() noexcept;

 private:
  SocketFile() = default;

  base::FileDescriptor socket_;
  std::string path_;
  dev_t device_ = 0;
  ino_t file_ = 0;
};

}  // namespace framewire::service::local
