// Several clients' requests for an engine's host threads.
#include <gtest/gtest.h>
#include <algorithm>
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
  int of_many = 0;
  int of_few = 0;
  while (of_many < 4) {
    const WorkPtr taken = take();
    const WorkQueue::Turn turn(queue_, *taken);
    const bool many = taken->client == kMany;
    std::this_thread::sleep_for(std::chrono::milliseconds(many ? 20 : 2));
    ++(many ? of_many : of_few);
  }
  EXPECT_GT(of_few, 12) << "of ten to one";
  EXPECT_LT(of_few, 60);
}

TEST_F(FairQueues, TheyAreFairAboutWhatADeviceCouldDecode) {
  for (int i = 0; i < 4; ++i) push(kMany, i, true);
  EXPECT_EQ(work(std::chrono::milliseconds(20)), kMany);
  push(kFew, 0, true);
  push(kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
  EXPECT_EQ(work(std::chrono::milliseconds(1)), kFew);
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
  void submit(std::uint64_t client, const ResizeOptions& options, std::uint32_t waited_ms = 0) {
    EngineRequest request;
    request.jpeg = jpeg_;
    request.options = options;
    request.client = client;
    request.waited_ms = waited_ms;
    request.done = [this, client](const Result<Resized>& result) {
      const std::lock_guard lock(mutex_);
      order_.push_back(client);
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

TEST_F(EngineClients, ADeadlineCountsFromWhereARequestWaitedFirst) {
  submit(kFew, width(64, 60'000), 50'000);
  engine_->drain();
  EXPECT_EQ(last_.message(), "ok") << last_.to_string();
  EXPECT_GT(total_us_, 50e6) << "and so does the total";
  submit(kFew, width(64, 60'000), 60'000);
  engine_->drain();
  EXPECT_EQ(last_.code(), StatusCode::kDeadline);
  EXPECT_EQ(last_.subject(), "queue");
}

}  // namespace
}  // namespace framewire::engine
