#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <store/s3/kept_sockets.hpp>

namespace framewire::store::s3 {
namespace {

// @return 0 where it has none yet
std::uint16_t port_of(int fd) noexcept {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  // Both kinds have the port in the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

curl_socket_t KeptSockets::open(const curl_sockaddr& address) noexcept {
  try {
    opened_.reserve(opened_.size() + 1);
  } catch (...) {
    return CURL_SOCKET_BAD;
  }
  const int fd = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  opened_.push_back({fd, 0});
  return fd;
}

int KeptSockets::close(void* self, curl_socket_t fd) noexcept {
  auto& opened = static_cast<KeptSockets*>(self)->opened_;
  std::erase_if(opened, [fd](const Opened& one) { return one.fd == fd; });
  return ::close(fd);
}

bool KeptSockets::is_spoilt(int local_port) noexcept {
  bool found = false;
  for (Opened& one : opened_) {
    if (one.port == 0) one.port = port_of(one.fd);
    if (one.port != local_port) continue;
    found = true;
    // Connections to two servers may have one port here. Then both have to be as they were: a
    // connection more is the price.
    char byte = 0;
    const auto got = ::recv(one.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return true;
  }
  return !found;
}

}  // namespace framewire::store::s3
