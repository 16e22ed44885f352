// The sockets that libcurl has to servers, in use and kept for the next request.
#pragma once

#include <curl/curl.h>
#include <cstdint>
#include <vector>

namespace framewire::store::s3 {

/// Tells whether a kept connection is as its last answer left it. libcurl 7.88 does not: what a
/// server sends behind an answer, a moment later, it takes for the next request's answer.
/// Thread safety: one thread at a time, the one that drives the multi handle.
class KeptSockets {
 public:
  /// Makes one, as CURLOPT_OPENSOCKETFUNCTION does. @return CURL_SOCKET_BAD where that fails
  [[nodiscard]] curl_socket_t open(const curl_sockaddr& address) noexcept;
  /// CURLOPT_CLOSESOCKETFUNCTION. @param self  a KeptSockets
  static int close(void* self, curl_socket_t fd) noexcept;
  /// Whether bytes wait at a connection, or its other end has closed.
  /// @param local_port  says which one. True where there is none
  [[nodiscard]] bool is_spoilt(int local_port) noexcept;

 private:
  struct Opened {
    curl_socket_t fd;
    std::uint16_t port;  ///< of this end; 0: not looked up yet
  };
  std::vector<Opened> opened_;
};

}  // namespace framewire::store::s3
