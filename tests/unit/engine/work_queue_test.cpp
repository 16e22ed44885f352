// How many requests a lane takes, and how long it waits for them.
#include <gtest/gtest.h>
#include <base/clock.hpp>
#include <engine/queue_watch.hpp>
#include <engine/work_queue.hpp>
#include <future>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kForever_us = 60'000'000;

class WorkQueues : public testing::Test {
 protected:
  ~WorkQueues() override { queue_.close(); }

  void push(std::size_t count) {
    WorkList works;
    for (std::size_t i = 0; i < count; ++i) {
      WorkPtr work = std::make_unique<Work>();
      work->arrived = base::Clock::now();
      work->bytes = bytes_;
      works.push_back(std::move(work));
    }
    queue_.push(std::move(works));
  }
  /// Takes as a lane does. @return how many
  std::size_t take(std::size_t done = 0) {
    WorkList out;
    return queue_.take(bounds_, done, out) ? out.size() : 0;
  }
  std::future<std::size_t> taken(std::size_t done = 0) {
    return std::async(std::launch::async, [this, done] { return take(done); });
  }
  /// That a lane which waits has not taken anything yet.
  static void expect_waiting(const std::future<std::size_t>& lane) {
    EXPECT_EQ(lane.wait_for(milliseconds(50)), std::future_status::timeout);
  }

  const std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(1000);
  QueueWatch watch_;
  WorkQueue queue_{watch_};
  WorkQueue::Bounds bounds_{100, 4, UINT64_MAX, kForever_us, 2};
};

TEST_F(WorkQueues, WhoIsAloneTakesWhatThereIs) {
  push(1);
  EXPECT_EQ(take(), 1U);
}

TEST_F(WorkQueues, NoMoreThanAllowed) {
  bounds_.max_requests = 3;
  push(10);
  EXPECT_EQ(take(), 3U);
  bounds_.max_bytes = 2000;
  EXPECT_EQ(take(3), 2U);
}

/// 20 are at work: the other of two lanes waits for half of all that is unanswered, and no longer.
TEST_F(WorkQueues, WaitsForItsShareWhileOthersAreAtWork) {
  push(20);
  ASSERT_EQ(take(), 20U);
  auto lane = taken();
  push(18);
  expect_waiting(lane);
  push(1);
  EXPECT_EQ(lane.get(), 19U);
}

TEST_F(WorkQueues, ASmallShareIsNotWorthABatch) {
  push(1);
  ASSERT_EQ(take(), 1U);
  auto lane = taken();
  push(3);
  expect_waiting(lane);
  push(1);
  EXPECT_EQ(lane.get(), 4U);
}

TEST_F(WorkQueues, WaitsNoLongerThanItMay) {
  bounds_.wait_us = 20'000;
  push(20);
  ASSERT_EQ(take(), 20U);
  const auto start = base::Clock::now();
  push(2);
  EXPECT_EQ(take(), 2U);
  EXPECT_GE(base::elapsed_us(start), 20'000);
}

TEST_F(WorkQueues, GoesOnWhenNobodyElseIsAtWork) {
  push(20);
  ASSERT_EQ(take(), 20U);
  auto lane = taken();
  push(2);
  expect_waiting(lane);
  queue_.leave(20);
  EXPECT_EQ(lane.get(), 2U);
}

TEST_F(WorkQueues, WhatHasBeenFinishedIsNoLongerShared) {
  push(80);
  ASSERT_EQ(take(), 80U);
  push(6);
  auto back = taken(80);  // comes back alone
  EXPECT_EQ(back.get(), 6U);
  auto lane = taken();
  push(6);  // half of twelve
  EXPECT_EQ(lane.get(), 6U);
}

TEST_F(WorkQueues, ManyCallersLeaveEachOtherTheirPart) {
  bounds_.callers = 4;
  bounds_.wait_us = 0;
  push(40);
  std::size_t all = 0;
  for (int i = 0; i < 4 && all < 40; ++i) all += take();
  EXPECT_EQ(all, 40U);
}

TEST_F(WorkQueues, ClosedItHandsOutTheRest) {
  push(2);
  queue_.close();
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(take(2), 0U);
}

/// Work that keeps its helpers until it is over, or they are wanted.
class EndlessWork final : public codec::SharedWork {
 public:
  explicit EndlessWork(const WorkQueue& queue) : queue_(queue) {}
  void help() noexcept override {
    ++inside;
    while (!over && queue_.empty()) std::this_thread::yield();
    --inside;
  }
  std::atomic<int> inside{0};
  std::atomic<bool> over{false};

 private:
  const WorkQueue& queue_;
};

TEST_F(WorkQueues, WhoWaitsHelpsAndGoesWhenARequestComes) {
  EndlessWork work(queue_);
  bounds_.wait_us = 0;
  auto lane = taken();
  while (queue_.idle() < 1) std::this_thread::yield();
  queue_.invite(work, 1);
  while (work.inside < 1) std::this_thread::yield();
  expect_waiting(lane);
  EXPECT_EQ(queue_.idle(), 0U);
  push(3);
  EXPECT_EQ(lane.get(), 3U);
  queue_.dismiss(work);
  EXPECT_EQ(work.inside, 0);
}

TEST_F(WorkQueues, NobodyIsInsideAfterDismiss) {
  EndlessWork work(queue_);
  bounds_.wait_us = 0;
  auto lane = taken();
  while (queue_.idle() < 1) std::this_thread::yield();
  queue_.invite(work, 3);
  while (work.inside < 1) std::this_thread::yield();
  work.over = true;
  queue_.dismiss(work);
  EXPECT_EQ(work.inside, 0);
  expect_waiting(lane);
  push(1);
  EXPECT_EQ(lane.get(), 1U);
}

}  // namespace
}  // namespace framewire::engine
