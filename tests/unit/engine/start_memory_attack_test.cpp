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

}  // namespace
}  // namespace framewire::engine
