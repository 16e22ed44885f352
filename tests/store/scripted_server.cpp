#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <optional>
#include <tests/store/scripted_server.hpp>

namespace framewire::test {
namespace {

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Reads one request; nothing where the client has gone. What follows it stays in `buffer`.
std::optional<Asked> read_request(int fd, std::string& buffer, const std::atomic<bool>& ending) {
  const auto more = [&] {
    char bytes[65'536];
    while (!ending.load()) {
      pollfd wait{fd, POLLIN, 0};
      if (::poll(&wait, 1, 50) == 0) continue;
      const ssize_t got = ::read(fd, bytes, sizeof bytes);
      if (got <= 0) return false;
      buffer.append(bytes, static_cast<std::size_t>(got));
      return true;
    }
    return false;
  };
  while (buffer.find("\r\n\r\n") == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  Asked asked;
  const std::size_t end = buffer.find("\r\n\r\n");
  std::size_t line = buffer.find("\r\n");
  const std::string first = buffer.substr(0, line);
  asked.method = first.substr(0, first.find(' '));
  asked.target = first.substr(first.find(' ') + 1, first.rfind(' ') - first.find(' ') - 1);
  while (line < end) {
    const std::size_t begin = line + 2;
    line = buffer.find("\r\n", begin);
    const std::string text = buffer.substr(begin, line - begin);
    const std::size_t colon = text.find(':');
    const std::size_t value = text.find_first_not_of(' ', colon + 1);
    asked.headers[in_lower_case(text.substr(0, colon))] =
        value == std::string::npos ? "" : text.substr(value);
  }
  const auto length = asked.headers.find("content-length");
  const std::size_t bytes = length == asked.headers.end() ? 0 : std::stoul(length->second);
  buffer.erase(0, end + 4);
  while (buffer.size() < bytes) {
    if (!more()) return std::nullopt;
  }
  asked.body = buffer.substr(0, bytes);
  buffer.erase(0, bytes);
  return asked;
}

}  // namespace

Scripted reply(unsigned status, const std::string& body, const std::vector<std::string>& headers) {
  std::string head =
      fmt::format("HTTP/1.1 {} Scripted\r\nContent-Length: {}\r\n", status, body.size());
  for (const std::string& header : headers) head += header + "\r\n";
  return {head + "\r\n", body, SIZE_MAX, false, 0, false};
}

Scripted reply_range(const Asked& asked, const std::string& object) {
  const auto header = asked.headers.find("range");
  if (header == asked.headers.end()) return reply(200, object, {"ETag: \"e\""});
  std::size_t first = 0;
  std::size_t last = 0;
  EXPECT_EQ(std::sscanf(header->second.c_str(), "bytes=%zu-%zu", &first, &last), 2);
  return reply(
      206, object.substr(first, last - first + 1),
      {"ETag: \"e\"", fmt::format("Content-Range: bytes {}-{}/{}", first, last, object.size())});
}

ScriptedServer::ScriptedServer(std::function<Scripted(const Asked&)> script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener_, general, size), 0);
  EXPECT_EQ(::listen(listener_, 128), 0);
  EXPECT_EQ(::getsockname(listener_, general, &size), 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  ending_.store(true);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

void ScriptedServer::accept_all() {
  while (!ending_.load()) {
    pollfd wait{listener_, POLLIN, 0};
    if (::poll(&wait, 1, 50) <= 0) continue;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    connections_.fetch_add(1);
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void ScriptedServer::serve(int fd) {
  std::string buffer;
  while (const auto asked = read_request(fd, buffer, ending_)) {
    requests_.fetch_add(1);
    Scripted scripted = script_(*asked);
    // An answer to HEAD has none, whatever its Content-Length.
    if (asked->method == "HEAD") scripted.body.clear();
    if (!answer(fd, scripted)) break;
  }
  ::close(fd);
}

bool ScriptedServer::send_all(int fd, std::string_view bytes) const {
  while (!bytes.empty() && !ending_.load()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return bytes.empty();
}

bool ScriptedServer::answer(int fd, const Scripted& scripted) const {
  for (unsigned waited = 0; waited < scripted.stall_ms && !ending_.load(); waited += 10) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!send_all(fd, scripted.head)) return false;
  if (scripted.repeat_for_ever) {
    while (send_all(fd, scripted.body)) {
    }
    return false;
  }
  const auto body = std::string_view(scripted.body).substr(0, scripted.cut_after);
  if (!send_all(fd, body) || body.size() != scripted.body.size() || scripted.hang_up) return false;
  if (scripted.late.empty()) return true;
  while (late_wanted_.load() <= late_sent_.load() && !ending_.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool sent = send_all(fd, scripted.late);
  for (int unread = 1; sent && unread != 0 && ::ioctl(fd, SIOCOUTQ, &unread) == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  late_sent_.fetch_add(1);
  return sent;
}

void ScriptedServer::send_late() {
  const int wanted = late_wanted_.fetch_add(1) + 1;
  while (late_sent_.load() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace framewire::test
