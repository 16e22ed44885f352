// What is said to a service manager.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>
#include <service/systemd/notifier.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::systemd {
namespace {

/// In the place of systemd's socket.
class Manager {
 public:
  explicit Manager(const std::string& name)
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    std::size_t length = offsetof(sockaddr_un, sun_path) + name.size();
    if (name.front() == '@') {
      address.sun_path[0] = '\0';
    } else {
      ++length;
    }
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(length)),
              0);
  }
  [[nodiscard]] std::string heard() const {
    char text[2048];
    const auto length = ::recv(fd_.get(), text, sizeof text, 0);
    return length < 0 ? "(nothing)" : std::string(text, static_cast<std::size_t>(length));
  }

 private:
  base::FileDescriptor fd_;
};

void says_everything(const std::string& name) {
  const Manager manager(name);
  const auto notifier = Notifier::open(name, 3'000'000);
  ASSERT_TRUE(notifier) << notifier.error().to_string();
  EXPECT_TRUE(notifier->enabled());
  EXPECT_EQ(notifier->watchdog(), std::chrono::seconds(3));
  notifier->ready("listening");
  EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=listening");
  notifier->reloading();
  const std::string reloading = manager.heard();
  const std::string begin = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(reloading.starts_with(begin)) << reloading;
  timespec now{};
  ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &now), 0);
  EXPECT_NEAR(std::stod(reloading.substr(begin.size())) / 1e6, static_cast<double>(now.tv_sec),
              60.0);
  notifier->alive();
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  notifier->stopping("ending", std::chrono::milliseconds(1500));
  EXPECT_EQ(manager.heard(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000\nSTATUS=ending");
}

TEST(SystemdNotifier, SpeaksToAPath) {
  const test::TemporaryFolder folder;
  says_everything((folder.path() / "notify").string());
}

TEST(SystemdNotifier, SpeaksToAnAbstractName) {
  says_everything("@framewire-notifier-test-" + std::to_string(::getpid()));
}

TEST(SystemdNotifier, WithoutASocketItSaysNothing) {
  const auto notifier = Notifier::open("", 1);
  ASSERT_TRUE(notifier);
  EXPECT_FALSE(notifier->enabled());
  notifier->ready("a");
  const auto gone = Notifier::open("/nowhere/at/all", 1);
  ASSERT_TRUE(gone);
  gone->ready("nobody listens there");
}

TEST(SystemdNotifier, TakesItsEnvironmentAway) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  const Manager manager(path);
  const auto read = [&](const char* usec, const std::string& pid) {
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    ::setenv("WATCHDOG_USEC", usec, 1);
    if (!pid.empty()) ::setenv("WATCHDOG_PID", pid.c_str(), 1);
    const auto notifier = Notifier::from_environment();
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
      EXPECT_EQ(std::getenv(name), nullptr) << name;
    }
    return notifier && notifier->enabled() ? notifier->watchdog().count() : -1;
  };
  EXPECT_EQ(read("5000", ""), 5000);
  EXPECT_EQ(read("5000", std::to_string(::getpid())), 5000);
  EXPECT_EQ(read("5000", std::to_string(::getpid() + 1)), 0) << "another process' watchdog";
  EXPECT_EQ(read("99999999999999999999", ""), 0);
  EXPECT_EQ(read("-5", ""), 0);
}

TEST(SystemdNotifierAttack, TextOfAStatusSetsNothingElse) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  const Manager manager(path);
  const auto notifier = Notifier::open(path, 0);
  ASSERT_TRUE(notifier);
  notifier->status("a preset\nMAINPID=1\r\nSTOPPING=1");
  EXPECT_EQ(manager.heard(), "STATUS=a preset MAINPID=1  STOPPING=1");
  notifier->status(std::string(1'000'000, 'a'));
  EXPECT_EQ(manager.heard().size(), 7u + 512u);
}

TEST(SystemdNotifierAttack, SocketsThatCannotBeAreRefused) {
  for (const std::string& name :
       {std::string("relative"), std::string("/"), std::string("@"), std::string("vsock:2:1"),
        std::string(200, '/'), std::string("/a\0b", 4)}) {
    EXPECT_FALSE(Notifier::open(name, 0)) << name;
  }
}

}  // namespace
}  // namespace framewire::service::systemd
