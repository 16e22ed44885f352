// A port for a server that has to be told one, and cannot say which it has taken.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdint>
#include <random>
#include <stdexcept>

namespace framewire::test {

/// A port of loopback that nobody listens on. It is below those that the kernel gives to whoever
/// asks for any port: nobody gets it by chance between the look here and the server's start.
inline std::uint16_t free_port() {
  constexpr int kLowest = 10'000;
  constexpr int kHighest = 30'000;
  std::random_device random;
  for (int tries = 0; tries < 200; ++tries) {
    const int port = std::uniform_int_distribution(kLowest, kHighest)(random);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (free) return static_cast<std::uint16_t>(port);
  }
  throw std::runtime_error("no free port");
}

}  // namespace framewire::test
