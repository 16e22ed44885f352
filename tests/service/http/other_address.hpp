// A client at another address of this machine's.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <service/http/endpoint.hpp>
#include <string>
#include <string_view>
#include <tests/service/http/client.hpp>

namespace framewire::service::http::test {

/// Comes from 127.0.0.2, where TestClient comes from 127.0.0.1.
class OtherAddress {
 public:
  explicit OtherAddress(const std::string& endpoint) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    sockaddr_in to = own;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(parse_endpoint(endpoint)->port);
    connected_ = ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
                 ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~OtherAddress() { ::close(fd_); }
  OtherAddress(const OtherAddress&) = delete;
  OtherAddress& operator=(const OtherAddress&) = delete;

  [[nodiscard]] bool send(std::string_view request) const {
    return connected_ && ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) ==
                             static_cast<ssize_t>(request.size());
  }
  /// The status of what comes next; 0 where nothing does.
  [[nodiscard]] int status() const {
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    char bytes[4096];
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, kPatience_ms) != 1) return 0;
    const auto got = ::recv(fd_, bytes, sizeof bytes, 0);
    const std::string_view text(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
    return text.starts_with(kVersion) ? std::stoi(std::string(text.substr(kVersion.size(), 3))) : 0;
  }
  [[nodiscard]] bool answers() const { return send(get("/livez")) && status() == 200; }

 private:
  int fd_;
  bool connected_ = false;
};

}  // namespace framewire::service::http::test
