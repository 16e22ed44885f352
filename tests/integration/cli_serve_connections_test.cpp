// framewire serve with as many connections as a busy service has, and with more than it takes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <algorithm>
#include <optional>
#include <tests/integration/serve_load.hpp>
#include <tests/support/slower.hpp>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;

/// Has this process, and those that it starts, open so many files. @return whether it may
bool allow_files(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count) return false;
  limit.rlim_cur = std::max(limit.rlim_cur, count);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::uint64_t resident_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

/// Descriptors that are closed together.
class Sockets {
 public:
  ~Sockets() {
    for (const int fd : fds_) ::close(fd);
  }
  Sockets() = default;
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  void add(int fd) { fds_.push_back(fd); }
  [[nodiscard]] std::size_t size() const { return fds_.size(); }
  /// How many the other end has not closed, whatever it sent.
  [[nodiscard]] std::size_t open() const {
    return static_cast<std::size_t>(std::ranges::count_if(fds_, [](int fd) {
      char bytes[4096];
      ssize_t got = 0;
      while ((got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
      }
      return got < 0 && errno == EAGAIN;
    }));
  }

 private:
  std::vector<int> fds_;
};

bool is_alive(int fd) {
  constexpr std::string_view kRequest = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
  char answer[1024];
  return ::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0 &&
         ::recv(fd, answer, sizeof answer, 0) > 0 &&
         std::string_view(answer).starts_with("HTTP/1.1 200 ");
}

/// A connection to loopback from another of its addresses: somebody else's.
int connect_from_elsewhere(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  }
  ::close(fd);
  return -1;
}

using CliServeConnections = ServeLoad;

TEST_F(CliServeConnections, TenThousandIdleOnesAreHeldInLittleMemory) {
  constexpr std::size_t kIdle = 10'000;
  constexpr std::uint64_t kBytesEach = 64u << 10;
  if (!allow_files(kIdle + 300)) GTEST_SKIP() << "a process may not open 10,300 files here";
  start(0, {"--max-connections", "10100", "--keep-alive-timeout", "600000"});
  Sockets idle;
  std::uint64_t before = 0;
  while (idle.size() < kIdle) {
    const int fd = connect_to_path(socket_path());
    ASSERT_GE(fd, 0) << idle.size();
    idle.add(fd);
    ASSERT_TRUE(is_alive(fd)) << idle.size();
    if (idle.size() == 1) before = resident_bytes(server());
  }
  EXPECT_LE(resident_bytes(server()) - before, kIdle * kBytesEach * kMoreMemory);
  const auto clients = crowd(false, 4);
  EXPECT_TRUE(clients->answered(40));
  expect_nothing_lost(clients->stop(), *clients);
  EXPECT_EQ(idle.open(), kIdle);
}

TEST_F(CliServeConnections, ThousandsBeyondTheBoundHarmNobodyElse) {
  constexpr int kBound = 64;
  if (!allow_files(5'000)) GTEST_SKIP() << "a process may not open 5,000 files here";
  start_below_manager(0, {"--max-connections", std::to_string(kBound)});
  const auto clients = crowd(false, 4);
  ASSERT_TRUE(clients->answered(10));
  Sockets flood;
  for (int i = 0; i < 4'096 + kBound; ++i) {
    const int fd = connect_from_elsewhere(port());
    if (fd >= 0) flood.add(fd);
  }
  EXPECT_GE(flood.size(), 4'096u);
  EXPECT_TRUE(clients->answered(40));
  const CrowdCounts counts = clients->stop();
  expect_nothing_lost(counts, *clients);
  EXPECT_EQ(counts.no_server, 0u);
  std::size_t open = flood.open();
  for (int i = 0; i < 1000 && open > kBound; ++i) {
    std::this_thread::sleep_for(10ms);
    open = flood.open();
  }
  EXPECT_LE(open, static_cast<std::size_t>(kBound));
  EXPECT_EQ(end_server().exit_code, 0);
}

}  // namespace
}  // namespace framewire::test

#endif
