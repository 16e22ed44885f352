#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <tests/service/http/exhaust.hpp>
#include <tests/service/support/failing_memory.hpp>
#include <thread>

namespace framewire::service::http::test {

ServiceSettings exhausted() {
  ServiceSettings settings = impatient(2'000);
  settings.request_timeout_ms = 2'000;
  return settings;
}

void exhaust(TestServer& server, const std::function<Told()>& ask, int least) {
  using Clock = std::chrono::steady_clock;
  int failures = 0;
  for (long n = 1; n < 3'000; ++n) {
    std::atomic<bool> begin = false;
    std::atomic<bool> ended = false;
    Told told;
    Clock::duration time{};
    std::thread client([&] {
      begin.wait(false);
      const auto begun = Clock::now();
      told = ask();
      time = Clock::now() - begun;
      ended = true;
      ended.notify_all();
    });
    bool failed = false;
    {
      const service::test::FailingMemory memory(n);
      begin = true;
      begin.notify_all();
      ended.wait(false);
      failed = memory.failed();
    }
    client.join();
    ASSERT_LT(time, kPatience * 9 / 10) << "neither an answer nor an end at allocation " << n;
    if (!failed) {
      EXPECT_EQ(told.status, 200) << told.body;
      EXPECT_GE(failures, least) << "fewer allocations than there must be";
      EXPECT_TRUE(server.idle());
      return;
    }
    ++failures;
    EXPECT_TRUE(told.status == 0 || told.status == 200 || told.status == 503 || told.status == 429)
        << told.status << " at allocation " << n << ": " << told.body;
    const Told after = ask();
    ASSERT_EQ(after.status, 200) << "after allocation " << n << ": " << after.body;
    ASSERT_TRUE(server.idle()) << "something is still counted after allocation " << n;
  }
  ADD_FAILURE() << "allocations without an end";
}

}  // namespace framewire::service::http::test
