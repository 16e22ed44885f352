// Several clients' requests for an engine's host threads.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <engine/work_queue.hpp>
#include <framewire/engine.hpp>
#include <mutex>
#include <optional>
#include <tests/support/held_engine.hpp>
#include <tests/support/sample_jpeg.hpp>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

constexpr std::uint64_t kMany = 7;
constexpr std::uint64_t kFew = 8;

class FairQueues : public testing::Test {
 protected:
  ~FairQueues() override { queue_.close(); }

  void push(std::uint64_t client, int number = 0, bool for_device = false) {
    auto work = std::make_unique<Work>();
    work->arrived = base::Clock::now();
    work->client = client;
    work->bytes = {bytes_.data(), static_cast<std::size_t>(1 + number)};
    work->device_could_decode = for_device;
    queue_.push(std::move(work));
  }
  [[nodiscard]] WorkPtr take() {
    WorkList out;
    if (!queue_.take({}, done_, out)) return nullptr;
    done_ = 1;
    return out.pop_front();
  }
  /// Takes the next one and works on it. @return whose it was
  std::uint64_t work(std::chrono::milliseconds time) {
    const WorkPtr taken = take();
    const WorkQueue::Turn turn(queue_, *taken);
    std::this_thread::sleep_for(time);
    return taken->client;
  }

  const std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(1000);
  QueueWatch watch_;
  WorkQueue queue_{watch_, QueueOrder::kClientTime};
  std::size_t done_ = 0;
};

TEST_F(FairQueues, OneClientsOrderIsThatOfItsArrival) {
  for (int i = 0; i < 5; ++i) push(kMany, i);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(take()->bytes.size(), 1 + i);
}

TEST_F(FairQueues, WhoHasHadNothingIsNext) {
  for (int i = 0; i < 4; ++i) push(kMany);
  EXPECT_EQ(work(std::chrono::milliseconds(20)), kMany);
  for (int i = 0; i < 3; ++i) push(kFew);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew) << i;
  EXPECT_EQ(work({}), kMany);
}

TEST_F(FairQueues, TimeThatIsStillGoingByCounts) {
  for (int i = 0; i < 4; ++i) push(kMany);
  const WorkPtr taken = take();
  const WorkQueue::Turn turn(queue_, *taken);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  push(kFew);
  push(kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
}

TEST_F(FairQueues, TwoWhoWantAllGetEqualTime) {
  for (int i = 0; i < 8; ++i) push(kMany);
  for (int i = 0; i < 80; ++i) push(kFew);
  // What a machine that does other work makes of the pauses counts as measured, here and there.
  std::chrono::steady_clock::duration time_of_many{};
  std::chrono::steady_clock::duration time_of_few{};
  std::chrono::steady_clock::duration longest{};
  for (int of_many = 0; of_many < 4;) {
    const WorkPtr taken = take();
    const auto begun = std::chrono::steady_clock::now();
    const WorkQueue::Turn turn(queue_, *taken);
    const bool many = taken->client == kMany;
    std::this_thread::sleep_for(std::chrono::milliseconds(many ? 20 : 2));
    const auto took = std::chrono::steady_clock::now() - begun;
    (many ? time_of_many : time_of_few) += took;
    longest = std::max(longest, took);
    of_many += many ? 1 : 0;
  }
  // The last one of the many was begun when both had as much.
  EXPECT_GE(time_of_few + 2 * longest, time_of_many);
  EXPECT_LE(time_of_few, time_of_many + longest);
}

TEST_F(FairQueues, TheyAreFairAboutWhatADeviceCouldDecode) {
  for (int i = 0; i < 4; ++i) push(kMany, i, true);
  EXPECT_EQ(work(std::chrono::milliseconds(20)), kMany);
  push(kFew, 0, true);
  push(kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
}

TEST_F(FairQueues, ANewcomerOwnsNoTimeThatDevicesGaveBefore) {
  const WorkQueue::DeviceBounds bounds{1, 8, 8, UINT64_MAX};
  for (int i = 0; i < 4; ++i) push(kMany, 900, true);
  WorkList before;
  ASSERT_TRUE(queue_.take_for_device(bounds, before));
  ASSERT_EQ(before.size(), 4u);
  for (int i = 0; i < 4; ++i) push(kMany, 900, true);
  for (int i = 0; i < 4; ++i) push(kFew, 900, true);
  WorkList batch;
  const WorkQueue::DeviceBounds half{1, 8, 4, UINT64_MAX};
  ASSERT_TRUE(queue_.take_for_device(half, batch));
  std::size_t of_many = 0;
  while (!batch.empty()) of_many += batch.pop_front()->client == kMany ? 1 : 0;
  EXPECT_GE(of_many, 1u) << "of four, though the other one is new";
  EXPECT_LE(of_many, 2u);
}

TEST_F(FairQueues, WhoseFilesAreOfAnotherSizeKeepsItsPlace) {
  // Of the first one's time so far nothing is forgotten while a batch passes over its file.
  for (int i = 0; i < 3; ++i) push(kMany);
  EXPECT_EQ(work(std::chrono::milliseconds(30)), kMany);
  push(kFew, 900, true);
  const WorkQueue::DeviceBounds bounds{1, 1, 1, UINT64_MAX};
  push(kMany, 0, true);
  WorkList batch;
  ASSERT_TRUE(queue_.take_for_device(bounds, batch));
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.front().client, kFew);
  EXPECT_EQ(work({}), kMany);
}

TEST_F(FairQueues, WhatComesBackIsNotChargedTwice) {
  const WorkQueue::DeviceBounds one{1, 1, 1, UINT64_MAX};
  push(kMany, 900, true);
  push(kFew, 900, true);
  for (int i = 0; i < 5; ++i) {
    WorkList batch;
    ASSERT_TRUE(queue_.take_for_device(one, batch));
    EXPECT_EQ(batch.front().client, kMany) << i;
    queue_.put_back(std::move(batch));
  }
}

TEST_F(FairQueues, WhatIsOverIsTakenOutOfAllClientsRequests) {
  for (const std::uint64_t client : {kMany, kFew, kMany, std::uint64_t{0}}) push(client);
  auto late = std::make_unique<Work>();
  late->client = kFew;
  late->deadline = base::Clock::now();
  queue_.push(std::move(late));
  WorkList over;
  (void)queue_.remove_over(over);
  EXPECT_EQ(over.size(), 1u);
  for (int i = 0; i < 4; ++i) (void)take();
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueues, WhatIsPutBackKeepsItsOrder) {
  for (int i = 0; i < 3; ++i) push(kMany, i);
  push(kFew, 3);
  WorkList taken;
  for (int i = 0; i < 3; ++i) taken.push_back(take());
  queue_.put_back(std::move(taken));
  std::vector<std::size_t> of_many;
  while (!queue_.empty()) {
    const WorkPtr next = take();
    if (next->client == kMany) of_many.push_back(next->bytes.size());
  }
  EXPECT_EQ(of_many, (std::vector<std::size_t>{1, 2, 3}));
}

/// Answers in the order in which they come.
class EngineClients : public testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.codec = CodecKind::kTurbo;
    options.threads = 1;
    options.queue = 100;
    auto made = Engine::make(options);
    ASSERT_TRUE(made) << made.error().to_string();
    engine_.emplace(std::move(*made));
  }
  void submit(std::uint64_t client, const ResizeOptions& options, std::uint32_t waited_ms = 0,
              std::shared_ptr<std::atomic<bool>> claim = {}) {
    EngineRequest request;
    request.jpeg = jpeg_;
    request.options = options;
    request.client = client;
    request.waited_ms = waited_ms;
    request.claim = std::move(claim);
    request.done = [this, client](const Result<Resized>& result) {
      const std::lock_guard lock(mutex_);
      order_.push_back(client);
      if (!result && result.error().code() == StatusCode::kCancelled) ++cancelled_;
      last_ = result ? Status(StatusCode::kInternal, "ok") : result.error();
      if (result) total_us_ = result->report.times.total_us;
    };
    engine_->submit({&request, 1});
  }
  static ResizeOptions width(int px, std::uint32_t deadline_ms = 0) {
    ResizeOptions options;
    options.width_px = px;
    options.limits.deadline_ms = deadline_ms;
    return options;
  }

  const std::vector<std::uint8_t> jpeg_ = sample::make(
      {.width_px = 800, .height_px = 600}, [](int, double x, double y) { return x + y; });
  std::optional<Engine> engine_;
  std::mutex mutex_;
  std::vector<std::uint64_t> order_;
  Status last_{StatusCode::kInternal, ""};
  double total_us_ = 0;
  int cancelled_ = 0;
};

TEST_F(EngineClients, AFewRequestsDoNotWaitForTheManyOfAnother) {
  framewire::test::HeldEngine held(*engine_, 1);
  for (int i = 0; i < 20; ++i) submit(kMany, width(640));
  submit(kFew, width(64));
  held.release();
  engine_->drain();
  const auto place = std::ranges::find(order_, kFew) - order_.begin();
  EXPECT_LE(place, 2) << "behind at most what had been begun, and one of equal time";
}

TEST_F(EngineClients, WhatSeveralClaimIsMadeOnceAndForWhoIsFirst) {
  framewire::test::HeldEngine held(*engine_, 1);
  for (int i = 0; i < 20; ++i) submit(kMany, width(640));
  const auto claim = std::make_shared<std::atomic<bool>>(false);
  submit(kMany, width(64), 0, claim);
  submit(kFew, width(64), 0, claim);
  submit(kFew + 1, width(64), 0, claim);
  held.release();
  engine_->drain();
  EXPECT_EQ(order_.size(), 23u) << "each has an answer";
  EXPECT_EQ(cancelled_, 2);
  EXPECT_TRUE(*claim);
  const auto place = std::ranges::find(order_, kFew) - order_.begin();
  EXPECT_LE(place, 3);
  EXPECT_EQ(order_.back(), kMany) << "whose own turn came last";
}

TEST_F(EngineClients, ADeadlineCountsFromWhereARequestWaitedFirst) {
  submit(kFew, width(64, 60'000), 50'000);
  engine_->drain();
  EXPECT_EQ(last_.message(), "ok") << last_.to_string();
  EXPECT_LT(total_us_, 50e6) << "the total counts from this engine's queue";
  submit(kFew, width(64, 60'000), 60'000);
  engine_->drain();
  EXPECT_EQ(last_.code(), StatusCode::kDeadline);
  EXPECT_EQ(last_.subject(), "queue");
}

}  // namespace
}  // namespace framewire::engine
