// Memory that runs out while an engine starts ends no process: the engine is refused, or it works.
#include <gtest/gtest.h>
#include <tests/service/support/failing_memory.hpp>
#include <tests/unit/engine/fake_lanes.hpp>

namespace framewire::engine {
namespace {

using namespace fake;
using service::test::FailingMemory;

// Starts with the n-th allocation failing, for each n until none fails any more.
// @param prepare  makes what is handed to `start`, with memory that does not run out
template <typename Prepare, typename Start>
int exhaust(const Prepare& prepare, const Start& start) {
  int failures = 0;
  for (long n = 1; n < 3'000; ++n) {
    auto prepared = prepare();
    const FailingMemory memory(n);
    const auto made = start(std::move(prepared));
    const bool failed = memory.failed();
    EXPECT_TRUE(made || failed) << "allocation " << n;
    if (!made) {
      EXPECT_EQ(made.error().code(), StatusCode::kBusy) << "allocation " << n;
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

/// A group that enters in parts is handed in whole or not at all.
TEST(EngineMemoryAttack, ALargeGroupForWhichMemoryRunsOutIsNotHandedIn) {
  constexpr int kRequests = 40;
  EngineOptions options;
  options.queue = 16;  // so that parts are of one request
  const auto engine = make({}, options);
  bool failed = true;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 3'000);
    AnswerCounts answers;
    std::vector<EngineRequest> requests(kRequests);
    for (EngineRequest& request : requests) {
      // Damaged: answered before it has taken much memory.
      request = {std::span(photos()[0]).first(2), width(16), answers.callback()};
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
        EXPECT_EQ((answers.ok + answers.lost + answers.other), 0) << "allocation " << n;
      }
      engine->drain();
    }
    EXPECT_EQ((answers.ok + answers.lost + answers.other), thrown ? 0 : kRequests)
        << "allocation " << n;
  }
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
