#include <arpa/inet.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <base/wait_for.hpp>
#include <chrono>
#include <tests/service/support/origin_server.hpp>

namespace framewire::service::test {

std::string Connection::read_head() {
  while (true) {
    const std::size_t end = rest_.find("\r\n\r\n");
    if (end != std::string::npos) {
      std::string head = rest_.substr(0, end + 2);
      rest_.erase(0, end + 4);
      return head;
    }
    char buffer[4'096];
    const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
    if (count <= 0) return {};
    rest_.append(buffer, static_cast<std::size_t>(count));
    if (rest_[0] == '\x16') {  // a TLS handshake, which nothing here speaks
      send("no TLS here\r\n");
      return {};
    }
  }
}

bool Connection::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void Connection::await_delivery() const {
  int undelivered = 0;
  while (open() && ::ioctl(fd_, SIOCOUTQ, &undelivered) == 0 && undelivered > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Connection::stall(int milliseconds) const {
  pollfd client{fd_, POLLRDHUP, 0};
  (void)::poll(&client, 1, milliseconds);
}

void Connection::reset() const {
  const linger now{1, 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

OriginServer::OriginServer(std::function<void(Connection&)> answer)
    : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), 128) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no listener on loopback");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { accept_all(); });
}

OriginServer::~OriginServer() {
  ending_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& script : scripts_) script.join();
}

void OriginServer::accept_all() {
  while (!ending_) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++accepted_;
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
    }
    scripts_.emplace_back([this, fd] {
      const base::FileDescriptor owner(fd);
      Connection connection(fd, ending_);
      answer_(connection);
      const std::lock_guard lock(mutex_);
      open_.erase(std::find(open_.begin(), open_.end(), fd));
    });
  }
}

std::string ok(std::string_view body, std::string_view headers) {
  return "HTTP/1.1 200 OK\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string status(int code, std::string_view headers) {
  return "HTTP/1.1 " + std::to_string(code) + " Status\r\n" + std::string(headers) +
         "Content-Length: 0\r\n\r\n";
}

std::function<void(Connection&)> answering(
    std::function<std::string(const std::string& head)> answer) {
  return [answer = std::move(answer)](Connection& connection) {
    while (true) {
      const std::string head = connection.read_head();
      if (head.empty() || !connection.send(answer(head))) return;
    }
  };
}

}  // namespace framewire::service::test
