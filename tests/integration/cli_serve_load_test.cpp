// framewire serve under clients that never pause, while it reloads, ends, and loses processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <random>
#include <tests/integration/serve_load.hpp>
#include <tests/support/slower.hpp>

#ifdef FRAMEWIRE_SERVICE

namespace framewire::test {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 12;
/// So many answers come between two blows.
constexpr std::uint64_t kBetween = kSlower == 1 ? 60 : 15;

using CliServeLoad = ServeLoad;

class CliServeLoadWorkers : public ServeLoad, public testing::WithParamInterface<int> {};

TEST_P(CliServeLoadWorkers, ReloadsCostNoRequest) {
  start(GetParam());
  const auto clients = crowd(false, kClients);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(clients->answered(kBetween));
    ASSERT_EQ(::kill(server(), SIGHUP), 0);
  }
  ASSERT_TRUE(clients->answered(kBetween));
  const CrowdCounts counts = clients->stop();
  expect_nothing_lost(counts, *clients);
  EXPECT_EQ(counts.no_server, 0u);
  EXPECT_EQ(end_server().exit_code, 0);
}

// Every request that was sent is answered; only then connections end, and nobody listens.
TEST_P(CliServeLoadWorkers, AnEndCostsNoRequest) {
  start(GetParam());
  const auto clients = crowd(false, kClients);
  ASSERT_TRUE(clients->answered(kBetween));
  ASSERT_EQ(::kill(server(), SIGTERM), 0);
  EXPECT_TRUE(clients->ended_within(60s));
  const CrowdCounts counts = clients->stop();
  expect_nothing_lost(counts, *clients);
  EXPECT_EQ(counts.no_server, static_cast<std::uint64_t>(kClients));
  EXPECT_EQ(end_server().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(InOneProcess, CliServeLoadWorkers, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(WithWorkers, CliServeLoadWorkers, testing::Values(2));

TEST_F(CliServeLoad, KilledWorkersCostNoRequest) {
  start(2);
  ASSERT_TRUE(workers_are(2));
  const auto clients = crowd(false, kClients);
  std::mt19937 random(11);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(clients->answered(kBetween));
    const auto workers = children_of(server());
    if (!workers.empty()) (void)::kill(workers[random() % workers.size()], SIGKILL);
  }
  ASSERT_TRUE(clients->answered(kBetween));
  const CrowdCounts counts = clients->stop();
  expect_nothing_lost(counts, *clients);
  EXPECT_TRUE(workers_are(2));
  EXPECT_EQ(end_server().exit_code, 0);
}

// Whoever has an answer has the right one, whole; whoever has none asks again, and gets it.
TEST_F(CliServeLoad, AKilledFrontCostsNothingButAnotherTry) {
  start_below_manager(2);
  const auto clients = crowd(true, kClients);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(clients->answered(kBetween));
    ASSERT_TRUE(workers_are(2));
    const auto workers = children_of(server());
    kill_server();
    // Workers of a front that has gone end, too: their memory was its.
    for (const pid_t worker : workers) {
      bool gone = false;
      for (int wait = 0; wait < 1000 && !gone; ++wait) {
        gone = ::kill(worker, 0) != 0 ||
               read_text("/proc/" + std::to_string(worker) + "/stat").find(") Z ") !=
                   std::string::npos;
        if (!gone) std::this_thread::sleep_for(10ms);
      }
      EXPECT_TRUE(gone) << worker;
    }
    start_below_manager(2);
  }
  ASSERT_TRUE(clients->answered(kBetween));
  const CrowdCounts counts = clients->stop();
  EXPECT_EQ(counts.wrong, 0u) << clients->first_fault();
  EXPECT_EQ(counts.refused, 0u) << clients->first_fault();
  EXPECT_EQ(counts.no_server, 0u) << "the manager's socket was there all the time";
  EXPECT_GT(counts.unanswered + counts.cut, 0u);
  EXPECT_EQ(end_server().exit_code, 0);
}

}  // namespace
}  // namespace framewire::test

#endif
