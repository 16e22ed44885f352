#include <fmt/format.h>
#include <unistd.h>
#include <base/errno_code.hpp>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <system_error>

namespace framewire::batch {

Status io_error(const std::string& path, std::string_view doing, int error_number) {
  // std::strerror may share a buffer between threads; generic_category does not.
  const std::string reason = std::generic_category().message(error_number);
  return Status(base::code_of_errno(error_number), fmt::format("cannot {}: {}", doing, reason))
      .about(path);
}

int write_all(int fd, std::span<const std::uint8_t> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// Some file systems in user space, and of networks, have no such call for folders.
int flush_folder(int folder) noexcept {
  if (::fsync(folder) == 0) return 0;
  const bool cannot = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
  return cannot ? 0 : errno;
}

}  // namespace framewire::batch
