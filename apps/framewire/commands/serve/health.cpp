#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cerrno>
#include <chrono>
#include <commands/serve/health.hpp>
#include <memory>
#include <service/http/endpoint.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <transport/wire/tls_stream.hpp>

namespace framewire::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTime{5};
constexpr std::string_view kRequest =
    "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
constexpr std::string_view kGood = "HTTP/1.1 200";

tl::unexpected<Status> unreachable(const std::string& about, int error) {
  return fail(Status(StatusCode::kIoError,
                     fmt::format("nobody answers: {}", std::generic_category().message(error)))
                  .about(about));
}

struct ServiceAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

ServiceAddress address_of(const service::http::Endpoint& endpoint) {
  ServiceAddress address;
  if (!endpoint.unix_path.empty()) {
    auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
    local->sun_family = AF_UNIX;
    endpoint.unix_path.copy(local->sun_path, sizeof local->sun_path - 1);
    address.length = sizeof *local;
    return address;
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (::inet_pton(AF_INET, endpoint.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    if (v4->sin_addr.s_addr == htonl(INADDR_ANY)) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.length = sizeof *v4;
    return address;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  (void)::inet_pton(AF_INET6, endpoint.address.c_str(), &v6->sin6_addr);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(endpoint.port);
  if (IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) v6->sin6_addr = in6addr_loopback;
  address.length = sizeof *v6;
  return address;
}

// @return whether the socket is ready before the time has passed
bool wait(int fd, short what, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready{fd, what, 0};
    const int count = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count()));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

/// @return the answer's first bytes, as many as kGood has
Result<std::string> ask(const std::string& about, int fd, Clock::time_point end) {
  // It fits what a new socket takes at once.
  if (::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kRequest.size())) {
    return unreachable(about, errno);
  }
  std::string answer;
  while (answer.size() < kGood.size()) {
    char bytes[kGood.size()];
    if (!wait(fd, POLLIN, end)) return unreachable(about, ETIMEDOUT);
    const auto count = ::recv(fd, bytes, kGood.size() - answer.size(), 0);
    if (count <= 0) return unreachable(about, count == 0 ? ECONNRESET : errno);
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer;
}

/// Repeats a step of OpenSSL's until it is done.
/// @param step  as SSL_connect(): more than 0 where it is
/// @return what the step returns
template <typename Step>
Result<int> complete(const std::string& about, SSL* ssl, int fd, Clock::time_point end, Step step) {
  while (true) {
    ERR_clear_error();
    const int done = step();
    if (done > 0) return done;
    const int why = SSL_get_error(ssl, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
      return fail(
          Status(StatusCode::kIoError, "no answer over TLS: " + transport::wire::last_tls_error())
              .about(about));
    }
    const short what = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (!wait(fd, what, end)) return unreachable(about, ETIMEDOUT);
  }
}

/// As ask(). The certificate is not judged. It is for the service's public name, and the service is
/// asked at an address of this machine; the file of the settings may hold a newer one, which the
/// service shows after its next reload. Nothing is confided to whoever answers: the request has no
/// secret in it, and the answer says no more than a plain one from this machine would.
Result<std::string> ask_over_tls(const std::string& about, int fd, Clock::time_point end) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  const transport::wire::SslHandle ssl(context == nullptr ? nullptr : SSL_new(context.get()));
  if (ssl == nullptr || !transport::wire::attach(ssl.get(), fd)) {
    return fail(Status(StatusCode::kBusy, "no memory for TLS").about(about));
  }
  SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
  auto step = complete(about, ssl.get(), fd, end, [&] { return SSL_connect(ssl.get()); });
  if (!step) return fail(step.error());
  step = complete(about, ssl.get(), fd, end, [&] {
    return SSL_write(ssl.get(), kRequest.data(), static_cast<int>(kRequest.size()));
  });
  if (!step) return fail(step.error());
  std::string answer;
  while (answer.size() < kGood.size()) {
    char bytes[kGood.size()];
    const auto count = complete(about, ssl.get(), fd, end, [&] {
      return SSL_read(ssl.get(), bytes, static_cast<int>(kGood.size() - answer.size()));
    });
    if (!count) return fail(count.error());
    answer.append(bytes, static_cast<std::size_t>(*count));
  }
  return answer;
}

}  // namespace

Result<void> check_health(const service::http::ServiceSettings& settings) {
  const auto is_plain = [](const std::string& address) { return !address.starts_with("tls:"); };
  auto found = std::ranges::find_if(settings.listen, is_plain);
  if (found == settings.listen.end()) found = settings.listen.begin();
  if (found == settings.listen.end()) {
    return fail(Status(StatusCode::kInvalidInput, "there is no address to ask").about("listen"));
  }
  const std::string& text = *found;
  const auto endpoint = service::http::parse_endpoint(text);
  if (!endpoint) return fail(Status(StatusCode::kInvalidInput, "no address").about(text));
  const Clock::time_point end = Clock::now() + kTime;
  const ServiceAddress address = address_of(*endpoint);
  const base::FileDescriptor fd(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return unreachable(text, errno);
  const auto* to = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), to, address.length) != 0 && errno != EINPROGRESS) {
    return unreachable(text, errno);
  }
  if (!wait(fd.get(), POLLOUT, end)) return unreachable(text, ETIMEDOUT);
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return unreachable(text, error);
  const auto answer = endpoint->tls ? ask_over_tls(text, fd.get(), end) : ask(text, fd.get(), end);
  if (!answer) return fail(answer.error());
  if (*answer == kGood) return {};
  return fail(
      Status(StatusCode::kIoError, fmt::format("found '{}'; accepted: 200", *answer)).about(text));
}

}  // namespace framewire::app
