// framewire serve below a service manager: sockets it is handed, signals, and what it tells.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstddef>
#include <tests/integration/support.hpp>
#include <tests/service/support/tls_script.hpp>
#include <thread>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A service manager's socket, and a server below it.
class Managed {
 public:
  /// @param watchdog  in microseconds; empty: none
  explicit Managed(const std::string& watchdog = {}) {
    const std::string path = folder_ / "notify";
    notify_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(notify_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof loopback;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&loopback), length), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&loopback), &length), 0);
    port_ = ntohs(loopback.sin_port);
    write_text(config(), "ttl = 1\n");
    server_ = start_program({"serve", "--threads", "1", "--config", config()}, [&] {
      (void)::dup2(listener_, 3);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
      ::setenv("LISTEN_FDNAMES", "web", 1);
      ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
      if (!watchdog.empty()) ::setenv("WATCHDOG_USEC", watchdog.c_str(), 1);
    });
  }
  ~Managed() {
    if (server_ > 0) {
      (void)::kill(server_, SIGKILL);
      (void)wait_for(server_);
    }
    (void)::close(notify_);
    (void)::close(listener_);
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;

  [[nodiscard]] std::string config() const { return folder_ / "serve.toml"; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t server() const { return server_; }

  /// The next message; "" where none comes in time.
  [[nodiscard]] std::string heard(std::chrono::milliseconds time = 30s) const {
    pollfd ready{notify_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) != 1) return "";
    char text[2048];
    const auto count = ::recv(notify_, text, sizeof text, 0);
    return count < 0 ? "" : std::string(text, static_cast<std::size_t>(count));
  }

  /// Asks for /livez. @return the status line; "" where nobody answers
  [[nodiscard]] std::string alive() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port_));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char answer[256] = "";
    constexpr std::string_view kRequest = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
        ::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0) {
      (void)!::recv(fd, answer, sizeof answer - 1, 0);
    }
    ::close(fd);
    return std::string(answer).substr(0, 15);
  }

  [[nodiscard]] Ran end() {
    (void)::kill(server_, SIGTERM);
    return wait_for(std::exchange(server_, -1));
  }

 private:
  TemporaryFolder folder_;
  int notify_ = -1;
  int listener_ = -1;
  int port_ = 0;
  pid_t server_ = -1;
};

TEST(CliServeHealth, TellsWhetherTheServiceAnswers) {
  Managed managed;
  EXPECT_TRUE(managed.heard().starts_with("READY=1"));
  const auto health = [](const std::string& listen) {
    return run_program({"serve", "--health", "--listen", listen});
  };
  const std::string port = std::to_string(managed.port());
  EXPECT_EQ(health("127.0.0.1:" + port).exit_code, 0);
  EXPECT_EQ(health("0.0.0.0:" + port).exit_code, 0) << "at every address is here, too";
  const Ran elsewhere = health("unix:/nowhere/at/all");
  EXPECT_EQ(elsewhere.exit_code, 3);
  EXPECT_TRUE(contains(elsewhere.err, "/nowhere/at/all")) << elsewhere.err;
  EXPECT_EQ(managed.end().exit_code, 0);
  EXPECT_EQ(health("127.0.0.1:1").exit_code, 3);
}

TEST(CliServeHealth, AsksOverTlsWhereEveryAddressSpeaksIt) {
  const TemporaryFolder folder;
  const service::test::Certificate certificate("images.example.com");
  write_text(folder / "cert.pem", certificate.pem());
  write_text(folder / "key.pem", certificate.key_pem());
  fs::permissions(folder / "key.pem", fs::perms::owner_read | fs::perms::owner_write);
  const auto serve = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "serve",           "--listen",          "tls:unix:" + (folder / "socket"),
        "--tls-cert",      folder / "cert.pem", "--tls-key",
        folder / "key.pem"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(run_program(serve({"--health"})).exit_code, 3) << "nobody is there";
  const pid_t server = start_program(serve({"--threads", "1", "--drain-delay", "0"}));
  const auto until = Clock::now() + 30s;
  Ran asked = run_program(serve({"--health"}));
  while (asked.exit_code == 3 && Clock::now() < until) {
    std::this_thread::sleep_for(20ms);
    asked = run_program(serve({"--health"}));
  }
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  (void)::kill(server, SIGTERM);
  EXPECT_EQ(wait_for(server).exit_code, 0);
}

TEST(CliServeHealthAttack, AnAnswerThatDoesNotComeEndsInTime) {
  const TemporaryFolder folder;
  const std::string path = folder / "silent";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  const auto begun = Clock::now();
  EXPECT_EQ(run_program({"serve", "--health", "--listen", "unix:" + path}).exit_code, 3);
  EXPECT_GE(Clock::now() - begun, 4s);
  EXPECT_LT(Clock::now() - begun, 60s);
  ::close(fd);
}

/// The thread of the server's sockets. @return 0 where there is none
pid_t socket_thread(pid_t server) {
  const fs::path tasks = "/proc/" + std::to_string(server) + "/task";
  for (const auto& task : fs::directory_iterator(tasks)) {
    if (read_text(task.path() / "comm") == "fw-http\n") return std::stoi(task.path().filename());
  }
  return 0;
}

TEST(CliServeManager, ServesTheSocketItIsHandedAndTellsOfItself) {
  Managed managed;
  const std::string ready = managed.heard();
  EXPECT_TRUE(
      ready.starts_with("READY=1\nSTATUS=listening on 127.0.0.1:" + std::to_string(managed.port())))
      << ready;
  EXPECT_EQ(managed.alive(), "HTTP/1.1 200 OK");
  write_text(managed.config(), "ttl = 2\nqueue = 5\n");
  ASSERT_EQ(::kill(managed.server(), SIGHUP), 0);
  EXPECT_TRUE(managed.heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(managed.heard(),
            "READY=1\nSTATUS=reloaded: ttl changed; a restart is needed for queue");
  write_text(managed.config(), "ttl = 2\n\nttl = no\n");
  ASSERT_EQ(::kill(managed.server(), SIGHUP), 0);
  EXPECT_TRUE(managed.heard().starts_with("RELOADING=1\n"));
  const std::string mistake = managed.heard();
  EXPECT_TRUE(contains(mistake, "READY=1\nSTATUS=not reloaded, nothing has changed: ")) << mistake;
  EXPECT_TRUE(contains(mistake, "serve.toml:3")) << mistake;
  EXPECT_EQ(managed.alive(), "HTTP/1.1 200 OK");
  const Ran ended = managed.end();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_TRUE(managed.heard().starts_with("STOPPING=1\nEXTEND_TIMEOUT_USEC="));
}

TEST(CliServeManager, RefusesSocketsOfAnotherKind) {
  const auto serve = [](int type, const char* name) {
    return run_program({"serve"}, {}, [=] {
      const int fd = ::socket(AF_INET, type, 0);
      if (type == SOCK_STREAM) (void)::listen(fd, 1);
      (void)::dup2(fd, 3);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
      ::setenv("LISTEN_FDNAMES", name, 1);
    });
  };
  for (const auto& [type, name] :
       {std::pair(SOCK_DGRAM, "web"), std::pair(SOCK_DGRAM, "metrics"),
        std::pair(SOCK_STREAM, "tls"), std::pair(SOCK_STREAM, "local")}) {
    const Ran ran = serve(type, name);
    EXPECT_EQ(ran.exit_code, 2) << name << ran.err;
    EXPECT_TRUE(contains(ran.err, "socket")) << ran.err;
  }
}

TEST(CliServeManager, TheWatchdogHearsOfAStuckThread) {
  const Managed managed("2000000");
  EXPECT_TRUE(managed.heard().starts_with("READY=1"));
  EXPECT_EQ(managed.heard(), "WATCHDOG=1");
  EXPECT_EQ(managed.heard(), "WATCHDOG=1");
  const pid_t thread = socket_thread(managed.server());
  ASSERT_GT(thread, 0);
  // One thread is held; the one that waits for signals goes on.
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    GTEST_SKIP() << "no thread can be held here";
  }
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(thread, &status, __WALL), thread);
  while (managed.heard(0s) == "WATCHDOG=1") {  // what was sent before
  }
  // One that the last tick still allows.
  const auto held = Clock::now();
  int beats = 0;
  while (managed.heard(3s) == "WATCHDOG=1" && Clock::now() - held < 20s) ++beats;
  EXPECT_LE(beats, 3);
  EXPECT_LT(Clock::now() - held, 20s) << "the watchdog would never bark";
  ASSERT_EQ(::ptrace(PTRACE_DETACH, thread, nullptr, nullptr), 0);
  EXPECT_EQ(managed.heard(), "WATCHDOG=1") << "it works again";
}

}  // namespace
}  // namespace framewire::test

#endif
