#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <array>
#include <base/start_thread.hpp>
#include <csignal>
#include <memory>
#include <string>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>

namespace framewire::base {
namespace {

using service::test::FailingMemory;
using service::test::FailingThreads;
using testing::HasSubstr;

TEST(StartThread, GivesItTheNameAsFarAsTheSystemTakesIt) {
  std::array<char, 16> name{};
  auto thread = start_thread("fw-a-name-that-is-long", [&] {
    (void)::pthread_getname_np(::pthread_self(), name.data(), name.size());
  });
  ASSERT_TRUE(thread) << thread.error().to_string();
  thread->join();
  EXPECT_STREQ(name.data(), "fw-a-name-that-");
}

TEST(StartThread, BlocksSignalsThatAreForTheProgramThereAndNowhereElse) {
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  sigset_t there;
  auto thread =
      start_thread("fw-signals", [&] { (void)::pthread_sigmask(SIG_BLOCK, nullptr, &there); });
  ASSERT_TRUE(thread) << thread.error().to_string();
  thread->join();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGPIPE, SIGXFSZ, SIGCHLD}) {
    EXPECT_EQ(sigismember(&there, signal), 1) << signal;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) {
    EXPECT_EQ(sigismember(&there, signal), 0) << signal;
  }
  sigset_t after;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

TEST(StartThread, TakesWorkThatCanOnlyBeMoved) {
  int seen = 0;
  auto thread = start_thread("fw-moved", [&, seven = std::make_unique<int>(7)] { seen = *seven; });
  ASSERT_TRUE(thread) << thread.error().to_string();
  thread->join();
  EXPECT_EQ(seen, 7);
}

TEST(StartThread, ThatTheSystemRefusesIsBusyWithItsReason) {
  const FailingThreads failing(1);
  const auto thread = start_thread("fw-refused", [] {});
  ASSERT_FALSE(thread);
  EXPECT_EQ(thread.error().code(), StatusCode::kBusy);
  EXPECT_THAT(thread.error().message(), HasSubstr("fw-refused: Resource temporarily unavailable"));
}

TEST(StartThread, ThatThereIsNoMemoryForIsBusyAndLeavesTheOthersAlone) {
  long n = 1;
  for (bool failed = true; failed && n < 100; ++n) {
    std::vector<std::thread> threads;
    {
      const FailingMemory memory(n);
      Result<void> started;
      for (int i = 0; i < 3 && started; ++i) started = add_thread(threads, "fw-many", [] {});
      failed = memory.failed();
      if (!started) {
        EXPECT_EQ(started.error().code(), StatusCode::kBusy);
        EXPECT_EQ(started.error().message(), "memory ran out");
        EXPECT_LT(threads.size(), 3u);
      }
      EXPECT_EQ(started.has_value(), !failed);
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_GT(n, 3);
  EXPECT_LT(n, 100);
}

TEST(StartThread, ThatIsRefusedLeavesTheOthersAlone) {
  std::vector<std::thread> threads;
  {
    const FailingThreads failing(2);
    EXPECT_TRUE(add_thread(threads, "fw-many", [] {}));
    EXPECT_FALSE(add_thread(threads, "fw-many", [] {}));
    EXPECT_TRUE(add_thread(threads, "fw-many", [] {}));
  }
  EXPECT_EQ(threads.size(), 2u);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace framewire::base
