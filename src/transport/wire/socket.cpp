#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <transport/wire/socket.hpp>
#include <utility>

namespace framewire::transport::wire {
namespace {

using base::Clock;
using base::FileDescriptor;

// Clients that the system has connected and nobody has accepted yet: after a burst of them the
// system would drop the next, which would try again a second later. The system has a bound, too.
constexpr int kBacklog = 1024;

// @param error  errno as the call left it: what comes after it may change that
tl::unexpected<Status> refused(int error, std::string_view what) {
  return fail(base::code_of_errno(error), fmt::format("{}: {}", what, std::strerror(error)));
}

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressInfo> look_up(const Address& address, bool passive) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* first = nullptr;
  const int failed =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &first);
  if (failed != 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("host '{}' is not known: {}", address.host, gai_strerror(failed)));
  }
  return AddressInfo(first, &freeaddrinfo);
}

void set(int fd, int level, int option) noexcept {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);
}

// A host that vanishes says nothing: the kernel asks after 5 s of silence, and gives up after 10.
void configure(int fd) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY);
  set(fd, SOL_SOCKET, SO_KEEPALIVE);
  const int idle_s = 5;
  const int between_s = 2;
  const int patience_ms = 10'000;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

Result<FileDescriptor> try_connect(const addrinfo& to, const Address& address,
                                   Clock::time_point deadline, const std::stop_token& stop) {
  FileDescriptor socket(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return refused(errno, "no socket");
  configure(socket.get());
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return socket;
  int error = errno;
  if (error == EINPROGRESS) {
    const ShutDownOnStop stops(socket, stop);
    if (!base::wait_for(socket.get(), true, deadline)) {
      return fail(StatusCode::kDeadline,
                  fmt::format("{}:{} does not answer", address.host, address.port));
    }
    error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return socket;
  }
  return fail(StatusCode::kPeerLost, fmt::format("cannot connect to {}:{}: {}", address.host,
                                                 address.port, std::strerror(error)));
}

std::string origin_of(const sockaddr_storage& name) {
  if (name.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(name).sin6_addr;
    const char* bytes = reinterpret_cast<const char*>(address.s6_addr);
    return IN6_IS_ADDR_V4MAPPED(&address) ? std::string(bytes + 12, 4) : std::string(bytes, 8);
  }
  const auto& address = reinterpret_cast<const sockaddr_in&>(name).sin_addr;
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  Address address;
  const auto bad = [&] {
    return fail(StatusCode::kInvalidInput,
                fmt::format("'{}' is no address; HOST:PORT or [V6]:PORT", text));
  };
  if (colon == std::string_view::npos) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc{} || end != port.data() + port.size()) return bad();
  address.host = host.empty() ? "127.0.0.1" : std::string(host);
  return address;
}

bool is_loopback(const Address& address) {
  if (address.host == "localhost" || address.host == "::1") return true;
  in_addr v4{};
  return inet_pton(AF_INET, address.host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

ShutDownOnStop::ShutDownOnStop(const FileDescriptor& socket, const std::stop_token& stop)
    : own_(stop.stop_possible() ? ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0) : -1),
      on_stop_(stop, ShutDown{own_.get()}) {}

void ShutDownOnStop::ShutDown::operator()() const noexcept { (void)::shutdown(fd, SHUT_RDWR); }

Result<FileDescriptor> connect_to(const Address& address, Clock::time_point deadline,
                                  const std::stop_token& stop) {
  const auto found = look_up(address, false);
  if (!found) return fail(found.error());
  Result<FileDescriptor> socket = fail(StatusCode::kInvalidInput, "no address");
  for (const addrinfo* to = found->get(); to != nullptr && !socket; to = to->ai_next) {
    if (stop.stop_requested()) return fail(StatusCode::kPeerLost, "stopped before it connected");
    socket = try_connect(*to, address, deadline, stop);
  }
  return socket;
}

Result<FileDescriptor> listen_on(const Address& address) {
  const auto found = look_up(address, true);
  if (!found) return fail(found.error());
  const addrinfo& to = **found;
  FileDescriptor socket(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return refused(errno, "no socket");
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR);
  if (::bind(socket.get(), to.ai_addr, to.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    return refused(error, fmt::format("cannot listen on {}:{}", address.host, address.port));
  }
  return socket;
}

Result<std::optional<Caller>> accept_next(const FileDescriptor& listener) {
  while (true) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    const int fd = ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&name), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      configure(fd);
      return Caller{FileDescriptor(fd), origin_of(name)};
    }
    const int error = errno;
    if (error == EAGAIN) return std::nullopt;
    const bool is_ours = error == EBADF || error == EINVAL || error == ENOTSOCK;
    if (is_ours || base::is_shortage(error)) {
      return refused(error, "cannot accept a connection");
    }
    // Else of one that has left again, or whose network has failed: accept(2), ERRORS.
  }
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  if (name.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

}  // namespace framewire::transport::wire
