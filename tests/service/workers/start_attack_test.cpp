// Threads and memory that run out while workers start and give way to others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <future>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <tests/service/workers/pool_fixture.hpp>

namespace framewire::service::workers::test {
namespace {

using service::test::FailingMemory;
using service::test::FailingThreads;

class WorkerStartAttack : public WorkerPoolTest {
 protected:
  [[nodiscard]] std::size_t started() const {
    std::size_t count = 0;
    for (const WorkerEvent& event : events()) count += event.what == "worker started" ? 1 : 0;
    return count;
  }
};

TEST_F(WorkerStartAttack, APoolWithoutItsThreadIsBusy) {
  const FailingThreads failing(1);
  const auto made = WorkerPool::make(pool_options(1));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kBusy);
}

// Another is started at once, and not when the worker's time to start has passed.
TEST_F(WorkerStartAttack, AWorkerWhoseReceiverGetsNoThreadIsReplaced) {
  start(1);
  const Bytes jpeg = make_jpeg(64, 48);
  {
    const FailingThreads failing(1, service::test::Starter::kModule);
    pool_->restart_workers();
    EXPECT_TRUE(soon([&] { return told("worker not started: "); }));
  }
  EXPECT_TRUE(told("busy: cannot start the thread fw-worker-recv: Resource temporarily"));
  pool_->restart_workers();
  EXPECT_TRUE(soon([&] { return started() == 2; }));
  EXPECT_TRUE(resize(jpeg));
}

// Whatever fails, the pool works and changes its workers afterwards.
TEST_F(WorkerStartAttack, EveryAllocationOfARestartFails) {
  start(1);
  const Bytes jpeg = make_jpeg(64, 48);
  long n = 1;
  for (bool failed = true; failed && n < 500; ++n) {
    std::promise<void> over;
    std::promise<const FailingMemory*> counting;
    auto counted = counting.get_future();
    std::jthread counter([&] {
      const FailingMemory memory(n);
      counting.set_value(&memory);
      over.get_future().wait();
    });
    const FailingMemory& memory = *counted.get();
    const std::size_t before = started();
    pool_->restart_workers();
    ASSERT_TRUE(soon([&] { return started() > before || memory.failed(); })) << n;
    // A start that failed is given up, and the worker stays that there is.
    const bool answered = resize(jpeg).has_value();
    failed = memory.failed();
    EXPECT_TRUE(answered || failed) << n;
    over.set_value();
    counter.join();
    // A session that memory ran out for is given up, which takes a moment.
    ASSERT_TRUE(soon([&] { return resize(jpeg).has_value(); })) << n;
  }
  EXPECT_GT(n, 10);
  EXPECT_LT(n, 500);
  const std::size_t before = started();
  pool_->restart_workers();
  EXPECT_TRUE(soon([&] { return started() > before; }));
}

}  // namespace
}  // namespace framewire::service::workers::test
