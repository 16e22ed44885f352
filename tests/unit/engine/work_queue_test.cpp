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

/// Requests of given bytes, which a device could decode.
class RequestsForDevices : public WorkQueues {
 protected:
  RequestsForDevices() { queue_.join_device_takers(); }
  void push_for_device(std::size_t bytes, bool could_decode = true) {
    WorkPtr work = std::make_unique<Work>();
    work->arrived = base::Clock::now();
    work->bytes = std::span(large_).first(bytes);
    work->device_could_decode = could_decode;
    queue_.push(std::move(work));
  }
  /// @return bytes of each
  std::vector<std::size_t> take_for_device() {
    WorkList out;
    EXPECT_TRUE(queue_.take_for_device(for_device_, out));
    std::vector<std::size_t> bytes;
    while (!out.empty()) bytes.push_back(out.pop_front()->bytes.size());
    return bytes;
  }

  const std::vector<std::uint8_t> large_ = std::vector<std::uint8_t>(100'000);
  WorkQueue::DeviceBounds for_device_{3, 2, 100, UINT64_MAX};
};

using Sizes = std::vector<std::size_t>;

TEST_F(RequestsForDevices, FewAreLeftToOthers) {
  auto lane = std::async(std::launch::async, [this] { return take_for_device(); });
  push_for_device(1000);
  push_for_device(1001);
  push_for_device(1002, false);
  EXPECT_EQ(lane.wait_for(milliseconds(50)), std::future_status::timeout);
  push_for_device(1003);
  EXPECT_EQ(lane.get(), (Sizes{1000, 1001, 1003}));
  EXPECT_EQ(take(), 1U) << "what no device could decode stays";
}

TEST_F(RequestsForDevices, GainMapsComeFirst) {
  WorkPtr work = std::make_unique<Work>();
  work->device_could_decode = true;
  work->has_gain_map_to_do = true;
  queue_.push(std::move(work));
  for (int i = 0; i < 3; ++i) push_for_device(1000);
  EXPECT_EQ(take_for_device().size(), 3U);
  EXPECT_EQ(take(), 1U);
}

/// One by one, so that each has come later than the one before: else host threads would decode each
/// as soon as its gain map is done.
TEST_F(RequestsForDevices, GainMapsOfManyAreMadeBeforeOneIsDecoded) {
  push_for_device(1000);
  for (int i = 0; i < 2; ++i) {
    WorkPtr work = std::make_unique<Work>();
    work->arrived = base::Clock::now();
    work->device_could_decode = true;
    work->has_gain_map_to_do = true;
    queue_.push(std::move(work));
  }
  WorkList out;
  ASSERT_TRUE(queue_.take({1, 1, UINT64_MAX, 0, 1}, 0, out));
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out.front().has_gain_map_to_do);
}

TEST_F(RequestsForDevices, SeveralTakeAtOnce) {
  for_device_.max_requests = 3;
  const auto take_three = [this] { return take_for_device().size(); };
  auto one = std::async(std::launch::async, take_three);
  auto other = std::async(std::launch::async, take_three);
  EXPECT_EQ(one.wait_for(milliseconds(50)), std::future_status::timeout);
  WorkList works;
  for (int i = 0; i < 6; ++i) {
    WorkPtr work = std::make_unique<Work>();
    work->device_could_decode = true;
    works.push_back(std::move(work));
  }
  queue_.push(std::move(works));
  EXPECT_EQ(one.get() + other.get(), 6U);
}

TEST_F(RequestsForDevices, WhatIsOverIsTakenOut) {
  for (int i = 0; i < 3; ++i) push_for_device(1000);
  WorkPtr late = std::make_unique<Work>();
  late->device_could_decode = true;
  late->deadline = base::Clock::now();
  queue_.push(std::move(late));
  WorkList over;
  EXPECT_EQ(queue_.remove_over(over), base::Clock::time_point::max());
  EXPECT_EQ(over.size(), 1U);
  EXPECT_EQ(take_for_device().size(), 3U);
}

TEST_F(RequestsForDevices, LikeSizesOfTheOldestMakeABatch) {
  for (const std::size_t bytes : {600, 5000, 1000, 90'000, 600, 300}) push_for_device(bytes);
  EXPECT_EQ(take_for_device(), (Sizes{600, 1000, 600}));
  EXPECT_EQ(take_for_device(), (Sizes{5000, 300})) << "a smaller one where those are too few";
}

TEST_F(RequestsForDevices, LargerOnesComeLast) {
  for (const std::size_t bytes : {600, 90'000, 5000}) push_for_device(bytes);
  EXPECT_EQ(take_for_device(), (Sizes{600, 5000}));
  EXPECT_FALSE(queue_.empty());
}

TEST_F(RequestsForDevices, ABatchIsBounded) {
  for (int i = 0; i < 12; ++i) push_for_device(1000);
  for_device_.max_bytes = 4999;
  EXPECT_EQ(take_for_device().size(), 4U);
  for_device_.max_bytes = 10;
  EXPECT_EQ(take_for_device().size(), 1U) << "one may be larger";
  for_device_ = {3, 2, 5, UINT64_MAX};
  EXPECT_EQ(take_for_device().size(), 5U);
}

/// Host threads see to what nobody else can do where a device takes the others.
TEST_F(RequestsForDevices, OthersComeFirstWhereManyWait) {
  for (const std::size_t bytes : {1000, 1001, 1002, 1003}) push_for_device(bytes);
  for_device_.max_requests = 1;
  WorkList first;
  ASSERT_TRUE(queue_.take_for_device(for_device_, first));
  push_for_device(90'000, false);
  push_for_device(80'000, false);
  const auto take_one = [&] {
    WorkList out;
    EXPECT_TRUE(queue_.take({1, 1, UINT64_MAX, 0, 1}, 0, out));
    return out.empty() ? 0 : out.front().bytes.size();
  };
  EXPECT_EQ(take_one(), 90'000U);
  queue_.leave_device_takers();
  EXPECT_EQ(take_one(), 1001U) << "nobody takes for a device now";
  queue_.join_device_takers();
  EXPECT_EQ(take_one(), 1002U) << "and of two nobody would";
}

TEST_F(RequestsForDevices, HostThreadsLeaveManyToThem) {
  for (int i = 0; i < 5; ++i) push_for_device(1000);
  for_device_.max_requests = 1;
  ASSERT_EQ(take_for_device().size(), 1U);
  EXPECT_TRUE(queue_.empty()) << "to host threads";
  auto host = taken();
  expect_waiting(host);
  for_device_.max_requests = 2;
  ASSERT_EQ(take_for_device().size(), 2U);
  EXPECT_EQ(host.get(), 2U) << "which no device takes now";
}

TEST_F(RequestsForDevices, AClosedQueueHandsOutWhatWasLeftToThem) {
  for (int i = 0; i < 4; ++i) push_for_device(1000);
  for_device_.max_requests = 1;
  ASSERT_EQ(take_for_device().size(), 1U);
  auto host = taken();
  expect_waiting(host);
  queue_.close();
  EXPECT_EQ(host.get(), 3U);
}

TEST_F(RequestsForDevices, OrderStays) {
  for (const std::size_t bytes : {600, 5000, 601, 6000, 602, 90}) push_for_device(bytes);
  EXPECT_EQ(take_for_device(), (Sizes{600, 601, 602}));
  queue_.leave_device_takers();
  WorkList rest;
  ASSERT_TRUE(queue_.take({3, 3, UINT64_MAX, 0, 1}, 0, rest));
  Sizes sizes;
  while (!rest.empty()) sizes.push_back(rest.pop_front()->bytes.size());
  EXPECT_EQ(sizes, (Sizes{5000, 6000, 90}));
}

TEST_F(RequestsForDevices, WhatIsPutBackIsCountedAgain) {
  for (int i = 0; i < 3; ++i) push_for_device(1000);
  WorkList out;
  ASSERT_TRUE(queue_.take_for_device(for_device_, out));
  queue_.put_back(std::move(out));
  EXPECT_EQ(take_for_device().size(), 3U);
}

TEST_F(RequestsForDevices, NobodyWaitsForAClosedQueue) {
  auto lane = std::async(std::launch::async, [this] {
    WorkList out;
    return queue_.take_for_device(for_device_, out);
  });
  push_for_device(1000);
  queue_.close();
  EXPECT_FALSE(lane.get());
}

}  // namespace
}  // namespace framewire::engine
