// Who is next where several clients want more than there is.
#include <gtest/gtest.h>
#include <base/client_times.hpp>
#include <set>

namespace framewire::base {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMs_ns = 1'000'000;

class ClientTimesTest : public testing::Test {
 protected:
  /// What a client has had that wants something.
  [[nodiscard]] std::int64_t ms(std::uint64_t client) {
    const std::size_t account = times_.enter(client, now_);
    times_.leave(account);
    return times_.time_ns(account, now_) / kMs_ns;
  }
  /// One thread works on a request of the client's.
  void work(std::uint64_t client, int time_ms) {
    const auto begun = now_;
    const std::size_t account = times_.begin(client, begun);
    times_.serve(account, begun);
    now_ += milliseconds(time_ms);
    times_.end(account, begun, now_);
  }

  ClientTimes times_{1};
  ClientTimes::TimePoint now_{std::chrono::hours(1)};
};

TEST_F(ClientTimesTest, WhatIsUnderWayCountsAsItGoesBy) {
  const std::size_t account = times_.begin(3, now_);
  now_ += milliseconds(10);
  EXPECT_EQ(times_.begin(3, now_), account);
  now_ += milliseconds(5);
  EXPECT_EQ(ms(3), 10 + 5 + 5);
  times_.end(account, now_ - milliseconds(5), now_);
  EXPECT_EQ(ms(3), 20);
  now_ += milliseconds(1);
  EXPECT_EQ(ms(3), 21);
}

TEST_F(ClientTimesTest, TimeThatNobodyElseWantedIsNoDebt) {
  times_.enter(1, now_);
  work(1, 500);
  work(1, 500);
  EXPECT_EQ(ms(2), 500) << "as the other had when it was served last";
  EXPECT_EQ(ms(1), 1000);
}

TEST_F(ClientTimesTest, APauseSavesNothingUp) {
  times_.enter(1, now_);
  times_.leave(times_.enter(2, now_));
  for (int i = 0; i < 10; ++i) work(1, 100);
  EXPECT_EQ(ms(2), 900);
}

TEST_F(ClientTimesTest, WhereNobodyWaitedNobodyOwes) {
  for (int i = 0; i < 4; ++i) work(1, 1000);
  now_ += milliseconds(1);
  times_.enter(2, now_);
  EXPECT_EQ(ms(2), 4000);
  EXPECT_EQ(ms(1), 4000);
}

TEST_F(ClientTimesTest, NorForWhatWasUnderWayWhenOthersBeganToWait) {
  (void)times_.begin(1, now_);
  (void)times_.begin(1, now_);
  now_ += milliseconds(500);
  times_.enter(2, now_);
  EXPECT_EQ(ms(2), 1000);
  EXPECT_EQ(ms(1), 1000);
  now_ += milliseconds(10);
  EXPECT_EQ(ms(1), 1020) << "from then on it counts";
  EXPECT_EQ(ms(2), 1000);
}

TEST_F(ClientTimesTest, WhatIsTakenWhileOthersWaitIsOwed) {
  times_.enter(2, now_);
  work(1, 500);
  work(1, 500);
  EXPECT_EQ(ms(1), 1000);
  const std::size_t waits = times_.enter(2, now_);
  EXPECT_EQ(times_.time_ns(waits, now_), 0);
}

TEST_F(ClientTimesTest, ClientsThatWantSomethingHaveAnAccountEach) {
  std::set<std::size_t> accounts;
  for (std::uint64_t client = 0; client < 256; ++client) {
    accounts.insert(times_.enter(client, now_));
  }
  // All neighbours are taken for few of them.
  EXPECT_GT(accounts.size(), 245u);
  EXPECT_LT(*accounts.rbegin(), ClientTimes::kAccounts);
}

TEST_F(ClientTimesTest, MoreClientsThanAccountsShareThem) {
  for (std::uint64_t client = 0; client < 10'000; ++client) {
    EXPECT_LT(times_.enter(client, now_), ClientTimes::kAccounts);
  }
}

TEST_F(ClientTimesTest, NobodyBeginsWithTheTimeOfAnother) {
  times_.enter(1'000'000, now_);
  for (std::uint64_t client = 0; client < 10'000; ++client) {
    const std::size_t account = times_.enter(client, now_);
    EXPECT_EQ(times_.time_ns(account, now_), 0);
    times_.charge(account, kMs_ns);
    times_.leave(account);
  }
}

TEST(ClientAccounts, TheSaltDecides) {
  ClientTimes one(1);
  ClientTimes other(2);
  std::size_t equal = 0;
  for (std::uint64_t client = 1; client < 100; ++client) {
    const std::size_t first = one.enter(client, {});
    const std::size_t second = other.enter(client, {});
    if (first == second) ++equal;
    one.leave(first);
    other.leave(second);
  }
  EXPECT_LT(equal, 10u);
}

}  // namespace
}  // namespace framewire::base
