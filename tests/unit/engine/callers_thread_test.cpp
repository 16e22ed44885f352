// Engines that work on the threads of their callers.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <framewire/engine.hpp>
#include <functional>
#include <future>
#include <memory>
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

}  // namespace
}  // namespace framewire
