#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <service/http/endpoint.hpp>
#include <stdexcept>
#include <tests/service/http/client.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

int connect_to(const Endpoint& endpoint) {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_un local;
  } address{};
  socklen_t length = sizeof address.v4;
  if (endpoint.unix_path.empty()) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(endpoint.port);
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    address.local.sun_family = AF_UNIX;
    endpoint.unix_path.copy(address.local.sun_path, sizeof address.local.sun_path - 1);
    length = sizeof address.local;
  }
  const int fd = ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, &address.any, length) != 0) {
    if (fd >= 0) ::close(fd);
    return -1;
  }
  return fd;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

Answer parse_answer(const std::string& head) {
  Answer answer;
  answer.status_line = head.substr(0, head.find("\r\n"));
  answer.status = std::stoi(answer.status_line.substr(9, 3));
  std::size_t at = answer.status_line.size() + 2;
  while (at < head.size()) {
    const auto end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    const auto colon = line.find(": ");
    if (colon != std::string::npos) {
      answer.fields.emplace(lower(line.substr(0, colon)), line.substr(colon + 2));
    }
    at = end == std::string::npos ? head.size() : end + 2;
  }
  return answer;
}

}  // namespace

TestClient::TestClient(const std::string& endpoint, const ClientTlsOptions& options) {
  const Endpoint parsed = parse_endpoint(endpoint).value_or(Endpoint{});
  fd_ = connect_to(parsed);
  if (!parsed.tls || fd_ < 0) return;
  const timeval patience{kPatience.count(), 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  tls_ = std::make_unique<ClientTls>(fd_, options);
}

TestClient::~TestClient() {
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
}

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, kPatience_ms) != 1) return false;
    const auto sent = tls_ != nullptr
                          ? tls_->write(bytes)
                          : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestClient::read_some() {
  pollfd ready{fd_, POLLIN, 0};
  const bool pending = tls_ != nullptr && tls_->has_pending();
  if (!pending && ::poll(&ready, 1, kPatience_ms) != 1) return false;
  return receive_into_buffer() > 0;
}

long TestClient::receive_into_buffer() {
  char bytes[65536];
  const auto got =
      tls_ != nullptr ? tls_->read(bytes, sizeof bytes) : ::recv(fd_, bytes, sizeof bytes, 0);
  if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
  ended_in_order_ = got == 0;
  return got;
}

std::optional<Answer> TestClient::receive(bool has_body) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_some()) return std::nullopt;
  }
  Answer answer = parse_answer(buffer_.substr(0, end));
  buffer_.erase(0, end + 4);
  const bool empty = !has_body || answer.status == 304 || answer.status == 100;
  const std::size_t length = empty || answer.field("content-length").empty()
                                 ? 0
                                 : std::stoul(answer.field("content-length"));
  while (buffer_.size() < length) {
    if (!read_some()) return std::nullopt;
  }
  answer.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return answer;
}

std::optional<Answer> TestClient::ask(std::string_view request, bool has_body) {
  // An early answer may come while we still send.
  (void)send(request);
  return receive(has_body);
}

void TestClient::end_sending(bool notify) {
  if (tls_ != nullptr && notify) tls_->close_notify();
  (void)::shutdown(fd_, SHUT_WR);
}

void TestClient::reset() {
  const linger now{1, 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(fd_);
  fd_ = -1;
}

bool TestClient::closed_within(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, 20) != 1) continue;
    if (receive_into_buffer() <= 0) return true;
  }
  return false;
}

TestServer::TestServer(const ServiceSettings& settings, const source::Network* network) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.queue = most_requests(settings, false) + 1;
  options.threads = 1;
  auto engine = Engine::make(options);
  if (!engine) throw std::runtime_error(engine.error().to_string());
  engine_.emplace(std::move(*engine));
  auto server = Server::start(
      settings, *engine_,
      [this](std::string_view lines) {
        const std::lock_guard lock(mutex_);
        log_ += lines;
      },
      network);
  if (!server) throw std::runtime_error(server.error().to_string());
  server_ = std::move(*server);
}

TestServer::~TestServer() { server_.reset(); }

std::string TestServer::endpoint(std::size_t index) const { return server_->endpoints().at(index); }

std::string TestServer::log() {
  const std::lock_guard lock(mutex_);
  return log_;
}

bool TestServer::idle() {
  return within_a_minute([this] {
    const ServerState state = server_->state();
    return state.requests == 0 && state.bytes == 0 && state.pixels == 0;
  });
}

std::list<TestClient> hold_requests(TestServer& server, std::size_t count) {
  std::list<TestClient> clients;
  while (clients.size() < count) {
    TestClient& client = clients.emplace_back(server.endpoint());
    if (!client.send("POST /v1/resize?size=8x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")) {
      clients.pop_back();
      return clients;
    }
  }
  if (!within_a_minute([&] { return server.server().state().requests >= count; })) clients.clear();
  return clients;
}

ServiceSettings loopback() {
  ServiceSettings settings;
  settings.listen = {"127.0.0.1:0"};
  settings.threads = 1;
  return settings;
}

ServiceSettings impatient(std::uint64_t timeout_ms) {
  ServiceSettings settings = loopback();
  settings.read_timeout_ms = timeout_ms;
  settings.write_timeout_ms = timeout_ms;
  settings.keep_alive_timeout_ms = timeout_ms;
  return settings;
}

bool within_a_minute(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

Bytes make_jpeg(int width_px, int height_px) {
  sample::Spec spec;
  spec.width_px = width_px;
  spec.height_px = height_px;
  return sample::make(spec, [](int component, double x, double y) {
    return component == 0 ? static_cast<double>(static_cast<int>(x * 3 + y * 5) % 251) : 128.0;
  });
}

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::string get(std::string_view target, std::string_view fields) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) +
         "\r\n";
}

std::string post(std::string_view target, std::string_view body, std::string_view fields) {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: test\r\nContent-Type: image/jpeg\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n" + std::string(fields) + "\r\n" +
         std::string(body);
}

std::string size_of(std::string_view jpeg) {
  try {
    const auto decoded =
        sample::decode({reinterpret_cast<const std::uint8_t*>(jpeg.data()), jpeg.size()});
    return std::to_string(decoded.width_px) + "x" + std::to_string(decoded.height_px);
  } catch (const std::runtime_error&) {
    return "";
  }
}

}  // namespace framewire::service::http::test
