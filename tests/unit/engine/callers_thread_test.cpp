// Engines that work on the threads of their callers.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <framewire/engine.hpp>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <tests/unit/engine/resized.hpp>
#include <thread>
#include <vector>

namespace framewire {
namespace {

using namespace std::chrono_literals;
using test::Bytes;

ResizeOptions eight_wide() {
  ResizeOptions options;
  options.width_px = 8;
  return options;
}

const Bytes& tiny_photo() {
  static const Bytes made = test::photo(24, 16);
  return made;
}

/// @param queue  0: without a bound
std::shared_ptr<Engine> engine_with(std::size_t queue) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.callers_thread = true;
  options.queue = queue;
  auto made = Engine::make(options);
  EXPECT_TRUE(made);
  return std::make_shared<Engine>(std::move(*made));
}

/// Calls the body on a thread of its own. A thread that hangs is left behind, so the body owns what
/// it uses. @return whether the body has returned within a minute
[[nodiscard]] bool returns(std::function<void()> body) {
  std::packaged_task<void()> task(std::move(body));
  auto over = task.get_future();
  std::thread(std::move(task)).detach();
  if (over.wait_for(60s) != std::future_status::ready) return false;
  over.get();
  return true;
}

TEST(EngineOnCallersThread, AGroupOfAnySizeEntersAQueueOfAnySize) {
  for (const std::size_t queue : {0u, 1u, 2u, 3u, 8u, 15u, 16u, 17u, 31u, 32u, 40u}) {
    for (const std::size_t count : {0u, 1u, 2u, 4u, 15u, 16u, 17u, 33u, 50u}) {
      const auto answered = std::make_shared<std::atomic<std::size_t>>(0);
      ASSERT_TRUE(returns([=, engine = engine_with(queue)] {
        std::vector<EngineRequest> requests(count);
        for (EngineRequest& request : requests) {
          request = {tiny_photo(), eight_wide(),
                     [=](const Result<Resized>& r) { *answered += r ? 1 : 0; }};
        }
        engine->submit(requests);
      })) << count
          << " requests, a queue of " << queue;
      EXPECT_EQ(*answered, count) << "a queue of " << queue;
    }
  }
}

/// Counts callbacks that are being called from within one another.
class Depth {
 public:
  Depth(int& now, int& most) : now_(now) { most = std::max(most, ++now_); }
  ~Depth() { --now_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& now_;
};

TEST(EngineOnCallersThread, AChainOfCallbacksDoesNotNest) {
  const auto engine = engine_with(0);
  constexpr int kRequests = 2000;
  int answered = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void(Result<Resized>)> next = [&](const Result<Resized>& made) {
    const Depth within(depth, deepest);
    EXPECT_TRUE(made);
    if (++answered < kRequests) engine->submit(tiny_photo(), eight_wide(), next);
  };
  engine->submit(tiny_photo(), eight_wide(), next);
  EXPECT_EQ(answered, kRequests) << "before submit() returned";
  EXPECT_EQ(deepest, 1);
}

TEST(EngineOnCallersThread, ChainsOverTwoEnginesDoNotNest) {
  const std::array engines = {engine_with(0), engine_with(2)};
  constexpr int kRequests = 500;
  int answered = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void(Result<Resized>)> next = [&](const Result<Resized>& made) {
    const Depth within(depth, deepest);
    EXPECT_TRUE(made);
    if (++answered >= kRequests) return;
    engines[static_cast<std::size_t>(answered % 2)]->submit(tiny_photo(), eight_wide(), next);
  };
  engines[0]->submit(tiny_photo(), eight_wide(), next);
  EXPECT_EQ(answered, kRequests);
  EXPECT_EQ(deepest, 2) << "one of each engine";
}

TEST(EngineOnCallersThread, CallbacksHandInGroupsWhateverTheQueue) {
  for (const std::size_t queue : {0u, 1u, 3u, 20u}) {
    const auto answered = std::make_shared<std::vector<int>>();
    ASSERT_TRUE(returns([=, engine = engine_with(queue)] {
      const auto requests_from = [=](int first, int end) {
        std::vector<EngineRequest> requests;
        for (int i = first; i < end; ++i) {
          requests.push_back({tiny_photo(), eight_wide(),
                              [=](const Result<Resized>& r) { answered->push_back(r ? i : -1); }});
        }
        return requests;
      };
      engine->submit(tiny_photo(), eight_wide(), [&](const Result<Resized>&) {
        auto group = requests_from(0, 50);
        engine->submit(group);
        auto one = requests_from(50, 51);
        engine->submit(one);
        EXPECT_TRUE(answered->empty()) << "answered within the callback";
      });
      EXPECT_EQ(answered->size(), 51u) << "a queue of " << queue;
      auto later = requests_from(51, 60);
      engine->submit(later);
    })) << "a queue of "
        << queue;
    std::vector<int> expected(60);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(*answered, expected);
  }
}

TEST(EngineOnCallersThread, TrySubmitInACallbackTakesWhatThereIsRoomFor) {
  const auto engine = engine_with(4);
  int answered = 0;
  int told = 0;
  std::vector<EngineRequest> requests(6);
  for (EngineRequest& request : requests) {
    request = {tiny_photo(), eight_wide(),
               [&](const Result<Resized>& r) { answered += r ? 1 : 0; }};
  }
  const auto rest = [&] {
    ++told;
    EXPECT_EQ(engine->try_submit(std::span(requests).subspan(5)), 1u);
  };
  engine->submit(tiny_photo(), eight_wide(), [&](const Result<Resized>&) {
    engine->submit(std::span(requests).first(5));
    EXPECT_EQ(engine->try_submit(std::span(requests).subspan(5), rest), 0u) << "beyond the queue";
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(answered, 6);
}

TEST(EngineOnCallersThread, ACallbackThatThrowsLosesNothing) {
  const auto engine = engine_with(0);
  int answered = 0;
  std::function<void(Result<Resized>)> next = [&](const Result<Resized>&) {
    if (++answered >= 20) return;
    engine->submit(tiny_photo(), eight_wide(), next);
    throw std::runtime_error("after submit()");
  };
  engine->submit(tiny_photo(), eight_wide(), next);
  EXPECT_EQ(answered, 20);
  engine->drain();
}

/// A callback may wait for these, though what it submits otherwise is answered later.
TEST(EngineOnCallersThread, ACallbackMayWaitForWhatHasAnAnswerToWaitFor) {
  for (const std::size_t queue : {0u, 1u}) {
    const auto answered = std::make_shared<std::atomic<int>>(0);
    ASSERT_TRUE(returns([=, engine = engine_with(queue)] {
      engine->submit(tiny_photo(), eight_wide(), [=](const Result<Resized>&) {
        *answered += engine->resize(tiny_photo(), eight_wide()) ? 1 : 0;
        *answered += engine->submit(tiny_photo(), eight_wide()).get() ? 1 : 0;
        ResizeOptions refused = eight_wide();
        refused.codec = CodecKind::kCuda;
        *answered += engine->resize(tiny_photo(), refused) ? 0 : 1;
      });
    })) << "a queue of "
        << queue;
    EXPECT_EQ(*answered, 3);
  }
}

/// Any engine answers these on the caller's thread.
TEST(EngineOnCallersThread, AChainOfRefusedRequestsDoesNotNest) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  ResizeOptions refused = eight_wide();
  refused.codec = CodecKind::kCuda;
  constexpr int kRequests = 2000;
  int answered = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void(Result<Resized>)> next = [&](const Result<Resized>& made) {
    const Depth within(depth, deepest);
    EXPECT_FALSE(made);
    if (++answered < kRequests) engine->submit(tiny_photo(), refused, next);
  };
  engine->submit(tiny_photo(), refused, next);
  EXPECT_EQ(answered, kRequests);
  EXPECT_EQ(deepest, 1);
}

/// The engine's threads make room meanwhile, so that its queue holds for callbacks, too.
TEST(EngineOnCallersThread, ACallbackOfARefusedRequestWaitsForRoomThatThreadsMake) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  options.queue = 4;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  ResizeOptions refused = eight_wide();
  refused.codec = CodecKind::kCuda;
  std::atomic<int> answered{0};
  int submitted = 0;
  int most = 0;
  engine->submit(tiny_photo(), refused, [&](const Result<Resized>& made) {
    EXPECT_FALSE(made);
    for (; submitted < 100; ++submitted) {
      engine->submit(tiny_photo(), eight_wide(), [&](const Result<Resized>&) { ++answered; });
      most = std::max(most, submitted + 1 - answered.load());
    }
  });
  engine->drain();
  EXPECT_EQ(answered, 100);
  EXPECT_LE(most, 5);
}

TEST(EngineOnCallersThread, ManyThreadsChainsAreAllAnswered) {
  const auto engine = engine_with(5);
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      int left = 100;
      std::function<void(Result<Resized>)> next = [&](const Result<Resized>& made) {
        answered += made ? 1 : 0;
        if (--left > 0) engine->submit(tiny_photo(), eight_wide(), next);
      };
      engine->submit(tiny_photo(), eight_wide(), next);
      EXPECT_EQ(left, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine->drain();
  EXPECT_EQ(answered, 400);
}

}  // namespace
}  // namespace framewire
