// Requests that are handed in without waiting, cancelled, late, and answered in groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <framewire/completion_queue.hpp>
#include <future>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <tests/unit/engine/fake_lanes.hpp>
#include <thread>

namespace framewire::engine {
namespace {

using namespace fake;
using namespace std::chrono_literals;

/// Holds the one host thread of an engine, from within an answer, until it is let go.
class Gate {
 public:
  Engine::Callback holder() {
    return [this](const Result<Resized>&) {
      held_.set_value();
      open_.get_future().wait();
    };
  }
  void wait_until_held() { held_.get_future().wait(); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> held_;
  std::promise<void> open_;
};

EngineOptions one_thread(std::size_t queue = 4) {
  EngineOptions options;
  options.threads = 1;
  options.queue = queue;
  return options;
}

EngineRequest request_of(Engine::Callback done, const ResizeOptions& options = width(16)) {
  return {photos()[0], options, std::move(done)};
}

TEST(EngineAdmission, TrySubmitTakesWhatThereIsRoomForAndLeavesTheRest) {
  const auto engine = make({}, one_thread(4));
  Gate gate;
  submit(*engine, photos()[0], width(16), gate.holder());
  gate.wait_until_held();
  std::atomic<int> answered{0};
  std::array<EngineRequest, 5> requests;
  for (EngineRequest& request : requests) {
    request = request_of([&](const Result<Resized>& made) { answered += made ? 1 : 0; });
  }
  std::promise<void> room;
  std::atomic<int> calls{0};
  EXPECT_EQ(engine->try_submit(requests,
                               [&] {
                                 if (++calls == 1) room.set_value();
                               }),
            3u);
  EXPECT_FALSE(requests[2].done) << "handed in";
  EXPECT_TRUE(requests[3].done) << "left";
  EXPECT_EQ(engine->try_submit(std::span(requests).subspan(3), {}), 0u);
  EXPECT_EQ(calls, 0);
  gate.open();
  room.get_future().wait();
  engine->drain();
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(engine->try_submit(std::span(requests).subspan(3), [&] { ++calls; }), 2u);
  engine->drain();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(calls, 1) << "once, and never where there was room";
}

/// While one answer holds a thread, another thread makes room.
TEST(EngineAdmission, AGroupAsLargeAsTheQueueDoesNotWaitUntilItIsEmpty) {
  EngineOptions options = one_thread(32);
  options.threads = 2;
  const auto engine = make({}, options);
  Gate gate;
  submit(*engine, photos()[0], width(16), gate.holder());
  gate.wait_until_held();
  std::atomic<int> answered{0};
  std::array<EngineRequest, 32> requests;
  for (EngineRequest& request : requests) {
    request = request_of([&](const Result<Resized>&) { ++answered; });
  }
  auto submitted = std::async(std::launch::async, [&] { engine->submit(requests); });
  EXPECT_EQ(submitted.wait_for(60s), std::future_status::ready);
  gate.open();
  submitted.wait();
  engine->drain();
  EXPECT_EQ(answered, 32);
}

TEST(EngineAdmission, TrySubmitOfOneSaysBusyAndKeepsTheRequest) {
  EngineOptions options = one_thread(1);
  options.codec = CodecKind::kTurbo;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  Gate gate;
  EngineRequest first = request_of(gate.holder());
  ASSERT_TRUE(engine->try_submit(first));
  gate.wait_until_held();
  std::promise<void> room;
  std::promise<Result<Resized>> answer;
  EngineRequest second =
      request_of([&](Result<Resized> made) { answer.set_value(std::move(made)); });
  const auto busy = engine->try_submit(second, [&] { room.set_value(); });
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), StatusCode::kBusy);
  gate.open();
  room.get_future().wait();
  ASSERT_TRUE(engine->try_submit(second));
  EXPECT_TRUE(answer.get_future().get());
}

TEST(EngineAdmission, ManyWhoAreRefusedAllComeToTheirTurn) {
  Script script;
  EngineOptions options;
  options.queue = 8;
  const auto engine = make(devices_of({&script}, 2), options);
  std::atomic<int> ok{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        EngineRequest request =
            request_of([&](const Result<Resized>& made) { ok += made ? 1 : 0; });
        for (;;) {
          const auto room = std::make_shared<std::promise<void>>();
          if (engine->try_submit({&request, 1}, [room] { room->set_value(); }) == 1) break;
          room->get_future().wait();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine->drain();
  EXPECT_EQ(ok, 800);
}

TEST(EngineAdmission, ACancelledRequestIsAnsweredAtOnce) {
  const auto engine = make({}, one_thread(100));
  Gate gate;
  submit(*engine, photos()[0], width(16), gate.holder());
  gate.wait_until_held();
  std::stop_source stop;
  std::promise<Result<Resized>> answer;
  std::atomic<bool> sink_asked{false};
  EngineRequest request =
      request_of([&](Result<Resized> made) { answer.set_value(std::move(made)); });
  request.stop = stop.get_token();
  request.sink = OutputSink([&](std::size_t) {
    sink_asked = true;
    return std::span<std::uint8_t>();
  });
  std::atomic<bool> other{false};
  std::array<EngineRequest, 2> requests = {
      std::move(request),
      request_of([&](const Result<Resized>& made) { other = made.has_value(); })};
  engine->submit(requests);
  auto future = answer.get_future();
  EXPECT_EQ(future.wait_for(20ms), std::future_status::timeout);
  stop.request_stop();
  ASSERT_EQ(future.wait_for(60s), std::future_status::ready) << "while the only thread is held";
  const auto cancelled = future.get();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), StatusCode::kCancelled);
  EXPECT_EQ(to_string(cancelled.error().code()), "cancelled");
  EXPECT_FALSE(other);
  gate.open();
  engine->drain();
  EXPECT_TRUE(other);
  EXPECT_FALSE(sink_asked);
}

TEST(EngineAdmission, WhatIsCancelledBeforehandOrTooLateIsAnsweredOnce) {
  Script script;
  for (const unsigned lanes : {0u, 2u}) {
    const auto engine =
        make(lanes == 0 ? std::vector<DeviceLanes>() : devices_of({&script}, lanes));
    std::stop_source stop;
    stop.request_stop();
    std::promise<Result<Resized>> answer;
    EngineRequest request =
        request_of([&](Result<Resized> made) { answer.set_value(std::move(made)); });
    request.stop = stop.get_token();
    engine->submit({&request, 1});
    const auto made = answer.get_future().get();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), StatusCode::kCancelled);
    std::stop_source late;
    std::promise<Result<Resized>> second;
    request = request_of([&](Result<Resized> r) { second.set_value(std::move(r)); });
    request.stop = late.get_token();
    engine->submit({&request, 1});
    EXPECT_TRUE(second.get_future().get());
    engine->drain();
    late.request_stop();
  }
}

TEST(EngineAdmission, ADeadlineThatPassesInTheQueueIsAnsweredThen) {
  const auto engine = make({}, one_thread(100));
  Gate gate;
  submit(*engine, photos()[0], width(16), gate.holder());
  gate.wait_until_held();
  std::vector<std::future<Result<Resized>>> answers;
  const auto start = std::chrono::steady_clock::now();
  for (const std::uint32_t ms : {5'000'000u, 80u, 40u}) {
    ResizeOptions hurried = width(16);
    hurried.limits.deadline_ms = ms;
    const auto promise = std::make_shared<std::promise<Result<Resized>>>();
    answers.push_back(promise->get_future());
    submit(*engine, photos()[0], hurried,
           [promise](Result<Resized> made) { promise->set_value(std::move(made)); });
  }
  for (const std::size_t i : {2u, 1u}) {
    ASSERT_EQ(answers[i].wait_for(60s), std::future_status::ready);
    const auto late = answers[i].get();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), StatusCode::kDeadline);
    EXPECT_EQ(late.error().subject(), "queue");
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, 80ms);
  EXPECT_EQ(answers[0].wait_for(0s), std::future_status::timeout);
  gate.open();
  EXPECT_TRUE(answers[0].get());
}

TEST(EngineAdmission, CancellingFromManyThreadsLosesNoAnswer) {
  Script script;
  EngineOptions options;
  options.queue = 64;
  const auto engine = make(devices_of({&script}, 2), options);
  constexpr int kRequests = 2000;
  std::atomic<int> ok{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> other{0};
  std::mutex mutex;
  std::vector<std::stop_source> sources;
  std::atomic<bool> over{false};
  std::vector<std::thread> cancellers;
  for (int t = 0; t < 2; ++t) {
    cancellers.emplace_back([&] {
      while (!over) {
        std::vector<std::stop_source> now;
        {
          const std::lock_guard lock(mutex);
          now.swap(sources);
        }
        for (std::size_t i = 0; i < now.size(); i += 2) now[i].request_stop();
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < kRequests; ++i) {
    std::stop_source source;
    EngineRequest request = request_of([&](const Result<Resized>& made) {
      if (made) {
        ++ok;
      } else {
        ++(made.error().code() == StatusCode::kCancelled ? cancelled : other);
      }
    });
    request.stop = source.get_token();
    {
      const std::lock_guard lock(mutex);
      sources.push_back(source);
    }
    engine->submit({&request, 1});
  }
  engine->drain();
  over = true;
  for (std::thread& thread : cancellers) thread.join();
  EXPECT_EQ(ok + cancelled, kRequests);
  EXPECT_EQ(other, 0);
}

TEST(EngineCompletions, EveryAnswerComesOnceWithItsTag) {
  Script script;
  const auto engine = make(devices_of({&script}, 3));
  const auto expected = one(*engine, photos()[0], width(16));
  const auto queue = std::make_shared<CompletionQueue>();
  constexpr std::size_t kRequests = 500;
  Bytes broken = photos()[0];
  broken.resize(10);
  std::vector<EngineRequest> requests(kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests[i].jpeg = i % 10 == 0 ? broken : photos()[0];
    requests[i].options = width(16);
    requests[i].completions = queue;
    requests[i].tag = i;
  }
  engine->submit(requests);
  std::vector<int> seen(kRequests, 0);
  for (std::size_t taken = 0; taken < kRequests;) {
    const auto group = queue->take(64, 10s);
    ASSERT_FALSE(group.empty());
    ASSERT_LE(group.size(), 64u);
    taken += group.size();
    for (const Completion& completion : group) {
      ++seen[completion.tag];
      ASSERT_EQ(completion.result.has_value(), completion.tag % 10 != 0);
      if (completion.result) {
        EXPECT_EQ(completion.result->bytes, expected->bytes);
      }
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(kRequests));
  EXPECT_EQ(queue->size(), 0u);
  EXPECT_TRUE(queue->take(5, 0s).empty());
  EXPECT_TRUE(queue->take(0, 10s).empty());
}

TEST(EngineCompletions, ABatchWakesOnce) {
  Script script;
  script.batch_time = 20ms;
  EngineOptions options;
  options.batch_wait_us = 0;
  const auto engine = make(devices_of({&script}, 1), options);
  std::atomic<int> woken{0};
  const auto queue = std::make_shared<CompletionQueue>([&] { ++woken; });
  std::vector<EngineRequest> requests(16);
  for (EngineRequest& request : requests) {
    request = request_of({});
    request.completions = queue;
  }
  engine->submit(requests);
  engine->drain();
  EXPECT_EQ(script.batches, 1);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(queue->take(100, 0s).size(), 16u);
}

TEST(EngineCompletions, MayOutliveTheirEngineAndBeSharedByTwo) {
  const auto queue = std::make_shared<CompletionQueue>([] { throw 1; });
  for (int i = 0; i < 2; ++i) {
    const auto engine = make({});
    EngineRequest request = request_of({});
    request.completions = queue;
    engine->submit({&request, 1});
  }
  EXPECT_EQ(queue->take(10, 0s).size(), 2u);
}

TEST(EngineCompletions, AWaitMayBeLongerThanTheClockCounts) {
  const auto queue = std::make_shared<CompletionQueue>();
  const auto engine = make({});
  std::jthread submits([&] {
    std::this_thread::sleep_for(50ms);
    EngineRequest request = request_of({});
    request.completions = queue;
    engine->submit({&request, 1});
  });
  EXPECT_EQ(queue->take(10, std::chrono::microseconds::max()).size(), 1u);
  EXPECT_TRUE(queue->take(10, std::chrono::microseconds::min()).empty());
}

TEST(EngineCompletions, SeveralWhoTakeShareThem) {
  Script script;
  const auto engine = make(devices_of({&script}, 2));
  const auto queue = std::make_shared<CompletionQueue>();
  constexpr int kRequests = 600;
  std::atomic<int> taken{0};
  std::vector<std::thread> takers;
  for (int t = 0; t < 3; ++t) {
    takers.emplace_back([&] {
      while (taken < kRequests) taken += static_cast<int>(queue->take(7, 5ms).size());
    });
  }
  for (int i = 0; i < kRequests; ++i) {
    EngineRequest request = request_of({});
    request.completions = queue;
    engine->submit({&request, 1});
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(taken, kRequests);
}

}  // namespace
}  // namespace framewire::engine
