#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <algorithm>
#include <base/adopted_socket.hpp>
#include <base/errno_code.hpp>
#include <base/passed_files.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <service/http/listener.hpp>
#include <system_error>

namespace framewire::service::http {
namespace {

// As much as the system allows: net.core.somaxconn bounds it.
constexpr int kBacklog = 4096;

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un local;
};

tl::unexpected<Status> refuse(const std::string& name, const char* what, int error) {
  return fail(Status(base::code_of_errno(error),
                     fmt::format("cannot {}: {}", what, std::generic_category().message(error)))
                  .about(name));
}

std::string name_of(const Endpoint& endpoint, std::uint16_t port) {
  const char* const tls = endpoint.tls ? "tls:" : "";
  if (!endpoint.unix_path.empty()) return fmt::format("{}unix:{}", tls, endpoint.unix_path);
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return v6 ? fmt::format("{}[{}]:{}", tls, endpoint.address, port)
            : fmt::format("{}{}:{}", tls, endpoint.address, port);
}

socklen_t fill(SocketAddress& address, const Endpoint& endpoint) {
  std::memset(&address, 0, sizeof address);
  if (!endpoint.unix_path.empty()) {
    address.local.sun_family = AF_UNIX;
    endpoint.unix_path.copy(address.local.sun_path, sizeof address.local.sun_path - 1);
    return sizeof address.local;
  }
  if (::inet_pton(AF_INET, endpoint.address.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(endpoint.port);
    return sizeof address.v4;
  }
  (void)::inet_pton(AF_INET6, endpoint.address.c_str(), &address.v6.sin6_addr);
  address.v6.sin6_family = AF_INET6;
  address.v6.sin6_port = htons(endpoint.port);
  return sizeof address.v6;
}

// What a socket is bound to, as name_of() writes it.
std::string name_of_socket(int fd) {
  SocketAddress bound;
  std::memset(&bound, 0, sizeof bound);
  socklen_t size = sizeof bound;
  if (::getsockname(fd, &bound.any, &size) != 0) return "a socket";
  if (bound.any.sa_family == AF_UNIX) {
    constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
    std::string_view path(bound.local.sun_path,
                          std::min<std::size_t>(size, sizeof bound) - kBefore);
    const bool abstract = path.starts_with('\0');
    if (abstract) path.remove_prefix(1);
    return fmt::format("unix:{}{}", abstract ? "@" : "", path.substr(0, path.find('\0')));
  }
  Endpoint endpoint;
  char text[INET6_ADDRSTRLEN] = "";
  const bool v6 = bound.any.sa_family == AF_INET6;
  const void* const address =
      v6 ? static_cast<const void*>(&bound.v6.sin6_addr) : &bound.v4.sin_addr;
  (void)::inet_ntop(bound.any.sa_family, address, text, sizeof text);
  endpoint.address = text;
  return name_of(endpoint, ntohs(bound.v4.sin_port));
}

// Deletes a socket's file that an earlier server has left. A file of another kind stays.
void remove_stale(const Endpoint& endpoint, const SocketAddress& address, socklen_t length) {
  struct stat facts {};
  if (::lstat(endpoint.unix_path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) return;
  const base::FileDescriptor probe(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return;
  const bool refused = ::connect(probe.get(), &address.any, length) != 0 && errno == ECONNREFUSED;
  if (refused) (void)::unlink(endpoint.unix_path.c_str());
}

Result<void> set_flag(int fd, int level, int option, const std::string& name) {
  const int on = 1;
  if (::setsockopt(fd, level, option, &on, sizeof on) == 0) return {};
  return refuse(name, "set up the socket", errno);
}

Result<void> prepare_tcp(int fd, int family, const std::string& name) {
  if (auto set = set_flag(fd, SOL_SOCKET, SO_REUSEADDR, name); !set) return set;
  // [::] means IPv6 alone; who wants both names both.
  if (family == AF_INET6) return set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, name);
  return {};
}

}  // namespace

void remove_bound_path(const BoundPath& file) noexcept {
  struct stat facts {};
  if (file.path.empty() || ::lstat(file.path.c_str(), &facts) != 0) return;
  const bool same = facts.st_dev == file.device && facts.st_ino == file.inode;
  if (same) (void)::unlink(file.path.c_str());
}

Result<ListeningSocket> open_listener(const Endpoint& endpoint, bool joins) {
  SocketAddress address;
  const socklen_t length = fill(address, endpoint);
  const int family = address.any.sa_family;
  const std::string name = name_of(endpoint, endpoint.port);
  ListeningSocket made{
      base::FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      family,
      name,
      {},
      endpoint.tls,
      false};
  if (!made.fd.valid()) return refuse(name, "make a socket", errno);
  if (family == AF_UNIX) {
    base::refuse_files(made.fd.get());
    remove_stale(endpoint, address, length);
  } else if (auto prepared = prepare_tcp(made.fd.get(), family, name); !prepared) {
    return fail(prepared.error());
  }
  const auto share = [&]() -> Result<void> {
    return family == AF_UNIX ? Result<void>()
                             : set_flag(made.fd.get(), SOL_SOCKET, SO_REUSEPORT, name);
  };
  if (joins) {
    if (auto shared = share(); !shared) return fail(shared.error());
  }
  if (::bind(made.fd.get(), &address.any, length) != 0) return refuse(name, "listen", errno);
  if (family == AF_UNIX) {
    struct stat facts {};
    if (::lstat(endpoint.unix_path.c_str(), &facts) != 0) return refuse(name, "listen", errno);
    made.bound = {endpoint.unix_path, facts.st_dev, facts.st_ino};
    // Others than owner and group may not connect, however open the folder is.
    (void)::chmod(endpoint.unix_path.c_str(), 0660);
  }
  if (::listen(made.fd.get(), kBacklog) != 0) return refuse(name, "listen", errno);
  // Not before it listens: of two servers that have both bound, the second listen() fails only
  // where one of the sockets cannot be shared.
  if (!joins) {
    if (auto shared = share(); !shared) return fail(shared.error());
  }
  SocketAddress bound;
  socklen_t size = sizeof bound;
  if (family != AF_UNIX && ::getsockname(made.fd.get(), &bound.any, &size) == 0) {
    // Both kinds have the port in the same place.
    made.name = name_of(endpoint, ntohs(bound.v4.sin_port));
  }
  return made;
}

Result<ListeningSocket> adopt_listener(base::FileDescriptor fd, const std::string& what) {
  const int family = base::family_of_listening(fd.get(), SOCK_STREAM);
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) {
    return fail(Status(StatusCode::kInvalidInput,
                       "found something else; accepted: a listening stream socket")
                    .about(what));
  }
  if (const int error = base::adopt_socket(fd.get(), family); error != 0) {
    return refuse(what, "set up the socket", error);
  }
  std::string name = name_of_socket(fd.get());
  return ListeningSocket{std::move(fd), family, std::move(name), {}, false, true};
}

Result<ListeningSocket> duplicate(const ListeningSocket& socket) {
  ListeningSocket copy{base::FileDescriptor(::fcntl(socket.fd.get(), F_DUPFD_CLOEXEC, 3)),
                       socket.family,
                       socket.name,
                       socket.bound,
                       socket.tls,
                       socket.inherited};
  if (!copy.fd.valid()) return refuse(socket.name, "share the socket", errno);
  return copy;
}

}  // namespace framewire::service::http
