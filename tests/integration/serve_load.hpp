// A service over a folder of photographs, and clients that know what it has to answer.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <tests/integration/serve_crowd.hpp>
#include <tests/integration/support.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::test {

/// A socket on a free port of loopback, which listens.
inline int listening_socket(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(::listen(fd, 512), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  port = ntohs(address.sin_port);
  return fd;
}

inline int connect_to_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

inline int connect_to_path(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code none;
  for (const auto& task :
       fs::directory_iterator("/proc/" + std::to_string(parent) + "/task", none)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

/// A folder of photographs, a service over it, and what it has to answer: each picture by URL, and
/// each as a body.
class ServeLoad : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(photos());
    for (unsigned i = 0; i < 8; ++i) {
      const Bytes jpeg = make_jpeg(160 + 16 * static_cast<int>(i), 120, i + 1);
      const std::string name = "p" + std::to_string(i) + ".jpg";
      write_file(photos() / name, jpeg);
      const Ran ran = run_program({"resize", photos() / name, "-", "--size", "80x"});
      ASSERT_EQ(ran.exit_code, 0) << ran.err;
      requests_.push_back(
          {"GET /unsafe/w:80/plain/" + name + " HTTP/1.1\r\nHost: a\r\n\r\n", ran.out});
      const std::string body(jpeg.begin(), jpeg.end());
      requests_.push_back({"POST /v1/resize?size=80x HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body,
                           ran.out});
    }
  }
  void TearDown() override {
    if (server_ > 0) (void)::kill(server_, SIGKILL), (void)wait_for(server_);
    if (listener_ >= 0) ::close(listener_);
  }

  [[nodiscard]] fs::path photos() const { return folder_.path() / "photos"; }
  [[nodiscard]] std::string socket_path() const { return folder_ / "socket"; }
  [[nodiscard]] pid_t server() const { return server_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Listens at a path of its own.
  void start(int workers, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--listen", "unix:" + socket_path(), "--log", "none"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(photos());
    server_ = start_program(serve_with_workers(workers, words));
    for (int i = 0; i < 1500; ++i) {
      const int fd = connect_to_path(socket_path());
      if (fd >= 0) {
        ::close(fd);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "nobody listens at " << socket_path();
  }
  /// Serves a socket that the test holds, as below a service manager.
  void start_below_manager(int workers, const std::vector<std::string>& more = {}) {
    if (listener_ < 0) listener_ = listening_socket(port_);
    std::vector<std::string> words = {"--log", "none"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(photos());
    server_ = start_program(serve_with_workers(workers, words), [this] {
      // A copy over itself would stay closed on exec.
      (void)(listener_ == 3 ? ::fcntl(3, F_SETFD, 0) : ::dup2(listener_, 3));
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
      ::setenv("LISTEN_FDNAMES", "web", 1);
    });
  }
  void kill_server() {
    ASSERT_EQ(::kill(server_, SIGKILL), 0);
    (void)wait_for(std::exchange(server_, -1));
  }
  [[nodiscard]] Ran end_server() {
    (void)::kill(server_, SIGTERM);
    return wait_for(std::exchange(server_, -1));
  }
  /// Waits until so many processes work for the server. @return false after half a minute
  [[nodiscard]] bool workers_are(std::size_t count) const {
    for (int i = 0; i < 3000; ++i) {
      if (children_of(server_).size() == count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  [[nodiscard]] std::unique_ptr<Crowd> crowd(bool retries, int clients) const {
    const bool managed = listener_ >= 0;
    return std::make_unique<Crowd>(
        [managed, port = port_, path = socket_path()] {
          return managed ? connect_to_port(port) : connect_to_path(path);
        },
        requests_, clients, retries);
  }

 private:
  TemporaryFolder folder_;
  std::vector<CrowdRequest> requests_;
  pid_t server_ = -1;
  int listener_ = -1;
  std::uint16_t port_ = 0;
};

inline void expect_nothing_lost(const CrowdCounts& counts, const Crowd& crowd) {
  EXPECT_EQ(counts.wrong, 0u) << crowd.first_fault();
  EXPECT_EQ(counts.refused, 0u) << crowd.first_fault();
  EXPECT_EQ(counts.cut, 0u);
  EXPECT_EQ(counts.unanswered, 0u);
}

}  // namespace framewire::test
