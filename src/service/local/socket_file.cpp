#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <base/adopted_socket.hpp>
#include <base/errno_code.hpp>
#include <base/passed_files.hpp>
#include <base/unix_address.hpp>
#include <cerrno>
#include <service/local/socket_file.hpp>
#include <system_error>
#include <utility>

namespace framewire::service::local {
namespace {

constexpr int kBacklog = 128;

Status refused(const std::string& path, std::string_view what, int error) {
  return Status(base::code_of_errno(error),
                fmt::format("{}: {}", what, std::generic_category().message(error)))
      .about(path);
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Whether nothing is there, or a socket of ours.
Result<void> check_taken(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return {};
  if (S_ISSOCK(facts.st_mode) && facts.st_uid == ::geteuid()) return {};
  return fail(Status(StatusCode::kIoError,
                     "is there already and no socket of ours; accepted: a path with nothing there")
                  .about(path));
}

/// Deletes what a server of ours has left that did not end in order.
Result<void> delete_stale(const std::string& path, const sockaddr_un& address) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return {};
  const base::FileDescriptor probe(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool answered =
      probe.valid() && ::connect(probe.get(), generic(address), sizeof address) == 0;
  if (answered || errno != ECONNREFUSED) {
    return fail(Status(StatusCode::kBusy, "a server listens there already").about(path));
  }
  if (::unlink(path.c_str()) != 0) return fail(refused(path, "cannot delete an old socket", errno));
  return {};
}

}  // namespace

Result<void> SocketFile::check(const std::string& path, mode_t mode) {
  if (base::unix_address(path) && (mode & ~mode_t{0777}) == 0) return check_taken(path);
  return fail(Status(StatusCode::kInvalidInput,
                     fmt::format("found a path of {} bytes and mode {:o}; accepted: 1 to {} "
                                 "bytes, mode 0 to 777",
                                 path.size(), mode, sizeof(sockaddr_un::sun_path) - 1))
                  .about(path));
}

Result<SocketFile> SocketFile::listen(const std::string& path, mode_t mode) {
  if (auto good = check(path, mode); !good) return fail(good.error());
  const auto address = base::unix_address(path);
  if (auto free = delete_stale(path, *address); !free) return fail(free.error());
  SocketFile made;
  made.socket_ =
      base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The file that bind() makes has the socket's own bits less the umask: never more than `mode`.
  if (!made.socket_.valid() || ::fchmod(made.socket_.get(), mode) != 0) {
    return fail(refused(path, "cannot make a socket", errno));
  }
  base::refuse_files(made.socket_.get());
  if (::bind(made.socket_.get(), generic(*address), sizeof *address) != 0) {
    return fail(refused(path, "cannot bind", errno));
  }
  made.path_ = path;
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
    return fail(refused(path, "cannot find the socket", errno));
  }
  made.device_ = facts.st_dev;
  made.file_ = facts.st_ino;
  if (::chmod(path.c_str(), mode) != 0) return fail(refused(path, "cannot set its mode", errno));
  if (::listen(made.socket_.get(), kBacklog) != 0) {
    return fail(refused(path, "cannot listen", errno));
  }
  return made;
}

Result<SocketFile> SocketFile::adopt(base::FileDescriptor fd) {
  if (base::family_of_listening(fd.get(), SOCK_SEQPACKET) != AF_UNIX) {
    return fail(StatusCode::kInvalidInput,
                "found something else; accepted: a listening Unix socket of sequential packets");
  }
  if (const int error = base::adopt_socket(fd.get(), AF_UNIX); error != 0) {
    return fail(refused("a socket", "cannot set it up", error));
  }
  SocketFile made;
  made.socket_ = std::move(fd);
  return made;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : socket_(std::move(other.socket_)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      file_(other.file_) {}

SocketFile::~SocketFile() { close(); }

/// The path first: whoever finds it finds somebody who listens.
void SocketFile::close() noexcept {
  struct stat facts {};
  const bool ours = !path_.empty() && ::lstat(path_.c_str(), &facts) == 0 &&
                    facts.st_dev == device_ && facts.st_ino == file_;
  if (ours) ::unlink(path_.c_str());
  path_.clear();
  socket_.reset();
}

}  // namespace framewire::service::local
