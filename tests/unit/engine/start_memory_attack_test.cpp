// Memory or threads that run out while an engine starts end no process: the engine is refused, or
// it works.
#include <gtest/gtest.h>
#include <atomic>
#include <framewire/completion_queue.hpp>
#include <future>
#include <memory>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <tests/support/held_engine.hpp>
#include <tests/unit/engine/fake_lanes.hpp>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

using namespace fake;
using service::test::FailingMemory;
using service::test::FailingThreads;

// Starts with the n-th of what `Failing` counts failing, for each n until none fails any more.
// @param prepare  makes what is handed to `start`, with memory that does not run out
template <typename Failing = FailingMemory, typename Prepare, typename Start>
int exhaust(const Prepare& prepare, const Start& start) {
  int failures = 0;
  for (long n = 1; n < 3'000; ++n) {
    auto prepared = prepare();
    const Failing failing(n);
    const auto made = start(std::move(prepared));
    const bool failed = failing.failed();
    EXPECT_TRUE(made || failed) << n;
    if (!made) {
      EXPECT_EQ(made.error().code(), StatusCode::kBusy) << n;
    }
    if (!failed) return failures;
    ++failures;
  }
  ADD_FAILURE() << "allocations without an end";
  return failures;
}

TEST(EngineMemoryAttack, EveryAllocationOfAStartWithLanesFails) {
  Script script;
  EngineOptions options;
  options.threads = 2;
  const int failures = exhaust(
      [&] {
        return devices_of({&script, &script}, 2);
      },
      [&](std::vector<DeviceLanes> devices) {
        return Dispatcher::make(options, std::move(devices));
      });
  EXPECT_GE(failures, 4) << "each lane makes a codec";
}

TEST(EngineMemoryAttack, EveryThreadOfAStartIsRefused) {
  Script script;
  EngineOptions options;
  options.threads = 2;
  const int refused = exhaust<FailingThreads>(
      [&] {
        return devices_of({&script, &script}, 2);
      },
      [&](std::vector<DeviceLanes> devices) {
        return Dispatcher::make(options, std::move(devices));
      });
  EXPECT_GE(refused, 1 + 2 + 1 + 2 * 2) << "watch, host threads, profiles, lanes";
}

TEST(EngineMemoryAttack, EveryAllocationOfAStartOnTheHostFails) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 2;
  const auto start = [](const EngineOptions& with) { return Engine::make(with); };
  EXPECT_GE(exhaust([&] { return options; }, start), 4);
}

TEST(EngineMemoryAttack, ALaneWithoutMemoryForItsCodecIsRefused) {
  Script script;
  std::vector<DeviceLanes> devices = devices_of({&script}, 2);
  devices[0].make_codec = [](LaneKind) -> Result<std::unique_ptr<codec::BatchCodec>> {
    throw std::bad_alloc();
  };
  EngineOptions options;
  options.threads = 1;
  const auto made = Dispatcher::make(options, std::move(devices));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kBusy);
  EXPECT_EQ(made.error().message(), "memory ran out");
}

int answered(const AnswerCounts& answers) { return answers.ok + answers.lost + answers.other; }

/// A group that enters in parts: its first part is handed in, and then each request is answered, or
/// nothing is.
/// @param codec  that requests name @param queue  takes answers; null: callbacks do
void exhaust_a_large_group(CodecKind codec, const std::shared_ptr<CompletionQueue>& queue) {
  constexpr int kRequests = 40;
  EngineOptions options;
  options.queue = 16;  // so that parts are of one request
  const auto engine = make({}, options);
  bool failed = true;
  bool refused_single_ones = false;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 3'000);
    AnswerCounts answers;
    std::vector<EngineRequest> requests(kRequests);
    for (EngineRequest& request : requests) {
      // Damaged: answered before it has taken much memory.
      request = {std::span(photos()[0]).first(2), width(16), {}};
      request.options.codec = codec;
      request.tag = 7;
      if (queue == nullptr) request.done = answers.callback();
      request.completions = queue;
    }
    bool thrown = false;
    {
      const FailingMemory memory(n);
      try {
        engine->submit(requests);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = memory.failed();
      if (thrown) {
        EXPECT_EQ(answered(answers), 0) << "allocation " << n;
      }
      engine->drain();
    }
    if (queue != nullptr) {
      for (const Completion& completion : queue->take(2 * kRequests, {})) {
        EXPECT_EQ(completion.tag, 7u);
        answers.callback()(completion.result);
        refused_single_ones |= completion.result.error().code() == StatusCode::kBusy && !thrown;
      }
    }
    EXPECT_EQ(answered(answers), thrown ? 0 : kRequests) << "allocation " << n;
    EXPECT_EQ(answers.ok, 0);
  }
  EXPECT_EQ(refused_single_ones, queue != nullptr);
  EXPECT_EQ(engine->stats().failures % kRequests, 0u) << "each group counts whole";
}

TEST(EngineMemoryAttack, ALargeGroupForWhichMemoryRunsOutIsAnsweredOrNotHandedIn) {
  for (const CodecKind codec : {CodecKind::kAuto, CodecKind::kCuda}) {
    exhaust_a_large_group(codec, nullptr);
    exhaust_a_large_group(codec, std::make_shared<CompletionQueue>());
  }
}

/// While the one thread is held a group has room for 15 requests: no more are made than these and
/// the part that waits.
TEST(EngineMemoryAttack, ALargeGroupTakesMemoryAsItEnters) {
  constexpr int kRequests = 10'000;
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  options.queue = 16;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  AnswerCounts answers;
  std::vector<EngineRequest> requests(kRequests);
  for (EngineRequest& request : requests) {
    request = {std::span(photos()[0]).first(2), width(16), answers.callback()};
  }
  long most = 0;
  std::atomic<bool> over{false};
  {
    framewire::test::HeldEngine held(*engine, 1);
    std::promise<const FailingMemory*> counting;
    auto counted = counting.get_future();
    std::thread submitter([&] {
      const FailingMemory memory(1'000'000'000);
      counting.set_value(&memory);
      engine->submit(requests);
      while (!over) std::this_thread::yield();
    });
    const FailingMemory& memory = *counted.get();
    // Until it waits for room, which the engine's thread never makes.
    for (long before = 0; most == 0 || before != most;) {
      before = most;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      most = memory.allocations();
    }
    held.release();
    engine->drain();
    over = true;
    submitter.join();
  }
  EXPECT_GE(most, 16);
  EXPECT_LT(most, 100);
  engine->drain();
  EXPECT_EQ(answered(answers), kRequests);
}

/// Without threads of the engine's the caller's works through a group in parts, too.
TEST(EngineMemoryAttack, ALargeGroupOnTheCallersThreadTakesMemoryAsItIsDone) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.callers_thread = true;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const FailingMemory memory(1'000'000'000);
  std::vector<long> allocated;
  std::vector<EngineRequest> requests(1'000);
  for (EngineRequest& request : requests) {
    request = {std::span(photos()[0]).first(2), width(16),
               [&](const Result<Resized>&) { allocated.push_back(memory.allocations()); }};
  }
  allocated.reserve(requests.size());
  const long before = memory.allocations();
  engine->submit(requests);
  ASSERT_EQ(allocated.size(), requests.size());
  EXPECT_LT(allocated.front() - before, 100) << "the others were not made yet";
}

/// Memory that could not be registered can be registered later, and is nobody's until then.
TEST(EngineMemoryAttack, ARegistrationForWhichMemoryRunsOutLeavesNothing) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  Bytes memory(1000);
  int failures = 0;
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 100);
    const FailingMemory failing(n);
    const auto handle = engine->register_memory(memory);
    failed = failing.failed();
    if (handle) continue;
    ++failures;
    EXPECT_EQ(handle.error().code(), StatusCode::kBusy) << "allocation " << n;
  }
  EXPECT_GE(failures, 2) << "the handle and the entry";
  EXPECT_TRUE(engine->register_memory(memory));
}

}  // namespace
}  // namespace framewire::engine
