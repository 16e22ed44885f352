#include <fcntl.h>
#include <sys/socket.h>
#include <base/adopted_socket.hpp>
#include <base/passed_files.hpp>
#include <cerrno>

namespace framewire::base {

int family_of_listening(int fd, int type) noexcept {
  const auto option = [fd](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const bool listens = option(SO_TYPE) == type && option(SO_ACCEPTCONN) == 1;
  return listens ? option(SO_DOMAIN) : -1;
}

int adopt_socket(int fd, int family) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return errno;
  }
  if (family == AF_UNIX) refuse_files(fd);
  return 0;
}

}  // namespace framewire::base
