// Who waits for requests to leave an engine, and for which of them.
#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <chrono>
#include <engine/admission.hpp>
#include <functional>
#include <future>
#include <stop_token>
#include <tests/unit/engine/fake_lanes.hpp>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

using namespace fake;
using namespace std::chrono_literals;

bool is_over(const std::future<void>& call, std::chrono::milliseconds wait) {
  return call.wait_for(wait) == std::future_status::ready;
}

/// Waits until requests enter another epoch than that of the first: a drain() has begun.
void wait_for_next_epoch(Admission& admission, Admission::Epoch first) {
  for (;;) {
    const auto now = admission.enter_at_once(1);
    admission.leave(1, 0, now);
    if (now != first) return;
    std::this_thread::yield();
  }
}

TEST(Admission, DrainWaitsForWhatHasEnteredBeforeAlone) {
  Admission admission(10);
  const auto first = admission.enter(2);
  auto drained = std::async(std::launch::async, [&] { admission.drain(); });
  wait_for_next_epoch(admission, first);
  const auto second = admission.enter(1);
  EXPECT_NE(first, second);
  admission.leave(1, 0, first);
  EXPECT_FALSE(is_over(drained, 20ms)) << "one is left";
  admission.leave(1, 0, first);
  EXPECT_TRUE(is_over(drained, 60s));
  EXPECT_EQ(admission.unanswered(), 1u);
  admission.leave(1, 0, second);
  admission.drain();
  admission.wait_until_idle();
}

TEST(Admission, ALaterDrainWaitsForWhatEnteredBetween) {
  Admission admission(10);
  const auto first = admission.enter(1);
  auto earlier = std::async(std::launch::async, [&] { admission.drain(); });
  wait_for_next_epoch(admission, first);
  const auto second = admission.enter(1);
  auto later = std::async(std::launch::async, [&] { admission.drain(); });
  EXPECT_FALSE(is_over(later, 20ms));
  admission.leave(1, 0, first);
  EXPECT_TRUE(is_over(earlier, 60s));
  EXPECT_FALSE(is_over(later, 20ms));
  wait_for_next_epoch(admission, second);
  const auto third = admission.enter(1);
  admission.leave(1, 0, second);
  EXPECT_TRUE(is_over(later, 60s)) << "whatever entered behind it";
  admission.leave(1, 0, third);
}

TEST(Admission, ADrainDoesNotWaitForWhatEntersWhileAnotherWaits) {
  Admission admission(10);
  const auto first = admission.enter(1);
  auto earlier = std::async(std::launch::async, [&] { admission.drain(); });
  wait_for_next_epoch(admission, first);
  const auto second = admission.enter(1);
  auto later = std::async(std::launch::async, [&] { admission.drain(); });
  wait_for_next_epoch(admission, second);
  const auto third = admission.enter(1);
  admission.leave(1, 0, second);
  EXPECT_FALSE(is_over(later, 20ms)) << "the first is left";
  EXPECT_FALSE(is_over(earlier, 0ms));
  admission.leave(1, 0, first);
  EXPECT_TRUE(is_over(earlier, 60s));
  EXPECT_TRUE(is_over(later, 60s)) << "though the third is left";
  admission.leave(1, 0, third);
}

TEST(Admission, ManyWhoEnterAndDrainAllGoOn) {
  Admission admission(8);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!over) {
        const auto epoch = admission.enter(2);
        std::this_thread::yield();
        admission.leave(2, 0, epoch);
      }
    });
  }
  std::vector<std::future<void>> drains;
  for (int t = 0; t < 3; ++t) {
    drains.push_back(std::async(std::launch::async, [&] {
      for (int i = 0; i < 300; ++i) {
        const auto mine = admission.enter(1);
        std::atomic<bool> left{false};
        std::thread leaves([&] {
          left = true;
          admission.leave(1, 0, mine);
        });
        admission.drain();
        EXPECT_TRUE(left);
        leaves.join();
      }
    }));
  }
  for (const auto& drain : drains) EXPECT_TRUE(is_over(drain, 60s));
  over = true;
  for (std::thread& thread : threads) thread.join();
  admission.wait_until_idle();
  EXPECT_EQ(admission.unanswered(), 0u);
}

TEST(EngineDrain, WaitsForNoChainOfCallbacks) {
  Script script;
  for (const unsigned lanes : {0u, 2u}) {
    auto engine = make(lanes == 0 ? std::vector<DeviceLanes>() : devices_of({&script}, lanes), {});
    Dispatcher* const inside = engine.get();
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0};
    std::function<void(Result<Resized>)> next = [&](const Result<Resized>&) {
      ++answered;
      if (!stop) submit(*inside, photos()[0], width(16), next);
    };
    for (int i = 0; i < 3; ++i) submit(*engine, photos()[0], width(16), next);
    EXPECT_TRUE(comes_to_hold([&] { return answered > 10; }));
    std::atomic<bool> before{false};
    submit(*engine, photos()[1], width(16), [&](const Result<Resized>&) { before = true; });
    auto drained = std::async(std::launch::async, [&] { engine->drain(); });
    EXPECT_TRUE(is_over(drained, 60s)) << "while callbacks submit";
    EXPECT_TRUE(before);
    stop = true;
    drained.wait();
    engine.reset();
    EXPECT_GT(answered, 12);
  }
}

/// `on_room` is called here by the thread that answers cancelled requests, when the host thread has
/// nothing left to do.
TEST(EngineDrain, WhatOnRoomSubmitsWhileTheEngineEndsIsMade) {
  EngineOptions options;
  options.threads = 1;
  options.queue = 2;
  auto engine = make({}, options);
  Dispatcher* const inside = engine.get();
  std::promise<void> held;
  std::promise<void> open;
  submit(*engine, photos()[0], width(16), [&](const Result<Resized>&) {
    held.set_value();
    open.get_future().wait();
  });
  held.get_future().wait();
  std::stop_source stop;
  EngineRequest cancelled{photos()[0], width(16), [](const Result<Resized>&) {}};
  cancelled.stop = stop.get_token();
  engine->submit({&cancelled, 1});
  int answered = 0;
  EngineRequest late{photos()[1], width(16), [&](const Result<Resized>& made) {
                       EXPECT_TRUE(made) << made.error().to_string();
                       ++answered;
                     }};
  std::promise<void> room;
  std::size_t handed = 0;
  const auto on_room = [&] {
    room.set_value();
    std::this_thread::sleep_for(50ms);
    handed = inside->try_submit({&late, 1}, {});
  };
  EXPECT_EQ(engine->try_submit({&late, 1}, on_room), 0u);
  stop.request_stop();
  room.get_future().wait();
  open.set_value();
  engine.reset();
  EXPECT_EQ(handed, 1u);
  EXPECT_EQ(answered, 1);
}

}  // namespace
}  // namespace framewire::engine
