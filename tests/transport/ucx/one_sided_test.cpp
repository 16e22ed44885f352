// UCX's one-sided reads and writes, which over TCP ignore the keys that should guard them
// (docs/decisions/0010): the same attacks against a program that has them, and against ours.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <filesystem>
#include <random>
#include <set>
#include <tests/transport/ucx/attacks.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/stream.hpp>

namespace framewire::transport::testing {
namespace {

const UcxSettings kTcp = {{"TLS", "tcp"}, {"NET_DEVICES", "lo"}};

class OneSidedTcp : public ::testing::TestWithParam<Attack> {
 protected:
  static bool succeeds(Victim& victim) {
    auto attacker = OneSided::open(kTcp);
    EXPECT_TRUE(attacker) << attacker.error().to_string();
    EXPECT_TRUE((*attacker)->reach(victim.address()));
    return harms(victim, **attacker, GetParam());
  }
};

TEST_P(OneSidedTcp, SucceedsWhereUcxIsTrusted) {
  auto victim = CarelessVictim::make(kTcp);
  if (!victim) GTEST_SKIP() << victim.error().to_string();
  EXPECT_TRUE(succeeds(**victim));
}

TEST_P(OneSidedTcp, DoesNothingToAChannel) {
  auto victim = OurVictim::make(ucx::Lanes::kTcp, "lo");
  if (!victim) GTEST_SKIP() << victim.error().to_string();
  EXPECT_FALSE(succeeds(**victim));
  EXPECT_TRUE((*victim)->unharmed());
  EXPECT_TRUE((*victim)->serves());
}

INSTANTIATE_TEST_SUITE_P(AttackUcxProbe, OneSidedTcp, ::testing::ValuesIn(kAttacks),
                         [](const auto& which) { return which.param.name; });

// Ports of TCP on which this process listens.
std::set<std::uint16_t> listening() {
  std::set<std::uint16_t> ports;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int yes = 0;
    socklen_t length = sizeof yes;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &length) != 0 || yes == 0) continue;
    const base::FileDescriptor borrowed(::dup(fd));
    ports.insert(wire::port_of(borrowed));
  }
  return ports;
}

// A port scan of what UCX opens, beside the control port of
// AttackProbe.RandomBytesDoNotStopTheListener.
TEST(AttackUcxProbe, RandomBytesAtItsPortDoNotEndAChannel) {
  const auto before = listening();
  auto victim = OurVictim::make(ucx::Lanes::kTcp, "lo");
  if (!victim) GTEST_SKIP() << victim.error().to_string();
  std::mt19937 random(11);
  int scanned = 0;
  for (const std::uint16_t port : listening()) {
    if (before.contains(port)) continue;
    ++scanned;
    for (int i = 0; i < 20; ++i) {
      const auto deadline = base::Clock::now() + std::chrono::seconds(5);
      auto socket = wire::connect_to({"127.0.0.1", port}, deadline);
      ASSERT_TRUE(socket);
      auto stream = wire::make_plain_stream(std::move(*socket));
      std::vector<std::byte> noise(1 + random() % 400);
      for (auto& byte : noise) byte = static_cast<std::byte>(random());
      static_cast<void>(wire::write_all(*stream, noise, deadline));
      for (int step = 0; step < 200; ++step) (*victim)->step();
    }
  }
  EXPECT_EQ(scanned, 2);  // one for each end of the connection
  EXPECT_TRUE((*victim)->unharmed());
  EXPECT_TRUE((*victim)->serves());
}

}  // namespace
}  // namespace framewire::transport::testing
