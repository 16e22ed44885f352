// Descriptors that a service manager hands over.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <service/systemd/passed_sockets.hpp>

namespace framewire::service::systemd {
namespace {

constexpr int kFirst = 700;  // where nothing else lies

/// Descriptors from kFirst on, closed in the end unless somebody took them.
struct Passed {
  explicit Passed(int count) {
    for (int i = 0; i < count; ++i) {
      const base::FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM, 0));
      EXPECT_EQ(::dup2(fd.get(), kFirst + i), kFirst + i);
    }
    for (int i = count; i < 8; ++i) (void)::close(kFirst + i);
  }
  ~Passed() {
    for (int i = 0; i < 8; ++i) (void)::close(kFirst + i);
  }
};

TEST(SystemdPassedSockets, TakesThemWithTheirNames) {
  const Passed passed(3);
  const std::string self = std::to_string(::getpid());
  {
    const auto taken = take_sockets({self.c_str(), "3", "web:metrics:"}, ::getpid(), kFirst);
    ASSERT_TRUE(taken) << taken.error().to_string();
    ASSERT_EQ(taken->size(), 3u);
    EXPECT_EQ((*taken)[0].name, "web");
    EXPECT_EQ((*taken)[1].name, "metrics");
    EXPECT_EQ((*taken)[2].name, "");
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ((*taken)[static_cast<std::size_t>(i)].fd.get(), kFirst + i);
      EXPECT_NE(::fcntl(kFirst + i, F_GETFD) & FD_CLOEXEC, 0) << "other programs would inherit it";
    }
  }
  EXPECT_LT(::fcntl(kFirst, F_GETFD), 0) << "who has taken it closes it";
}

TEST(SystemdPassedSockets, WithoutNamesTheyAreUnknown) {
  const Passed passed(1);
  const std::string self = std::to_string(::getpid());
  const auto taken = take_sockets({self.c_str(), "1", nullptr}, ::getpid(), kFirst);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 1u);
  EXPECT_EQ(taken->front().name, "unknown");
}

TEST(SystemdPassedSockets, LeavesThoseOfOthersAlone) {
  const Passed passed(1);
  const std::string other = std::to_string(::getpid() + 1);
  const auto taken = take_sockets({other.c_str(), "1", nullptr}, ::getpid(), kFirst);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->empty());
  EXPECT_GE(::fcntl(kFirst, F_GETFD), 0);
  EXPECT_TRUE(take_sockets({nullptr, "1", nullptr}, ::getpid(), kFirst)->empty());
}

TEST(SystemdPassedSocketsAttack, NonsenseIsRefused) {
  const Passed passed(2);
  const std::string self = std::to_string(::getpid());
  const auto fails = [&](const char* pid, const char* count, const char* names) {
    return !take_sockets({pid, count, names}, ::getpid(), kFirst);
  };
  EXPECT_TRUE(fails("nobody", "1", nullptr));
  EXPECT_TRUE(fails(self.c_str(), "", nullptr));
  EXPECT_TRUE(fails(self.c_str(), "-1", nullptr));
  EXPECT_TRUE(fails(self.c_str(), "65", nullptr)) << "more than anybody needs";
  EXPECT_TRUE(fails(self.c_str(), "99999999999", nullptr));
  EXPECT_TRUE(fails(self.c_str(), "2", "one"));
  EXPECT_TRUE(fails(self.c_str(), "2", "one:two:three"));
  EXPECT_TRUE(fails(self.c_str(), "2", "one:t\nwo"));
  EXPECT_TRUE(fails(self.c_str(), "3", nullptr)) << "the third is not open";
}

}  // namespace
}  // namespace framewire::service::systemd
