// A batch that gets neither its threads nor the memory to say so is refused, and ends no process.
#include <gtest/gtest.h>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <tests/unit/batch/memory_batch.hpp>

namespace framewire::batch {
namespace {

TEST(BatchMemoryAttack, EveryThreadIsRefusedAndTheMemoryToSayWhy) {
  EngineOptions engine_options;
  engine_options.codec = CodecKind::kTurbo;
  engine_options.callers_thread = true;
  auto engine = Engine::make(engine_options);
  ASSERT_TRUE(engine);
  Settings settings;
  settings.options.width_px = 8;
  settings.jobs = 3;
  bool refused = true;
  for (long thread = 1; refused; ++thread) {
    ASSERT_LT(thread, 20);
    bool ran_out = true;
    for (long n = 1; ran_out; ++n) {
      ASSERT_LT(n, 1'000);
      const std::vector<Object> objects;
      MemorySource source(objects);
      MemorySink sink;
      const service::test::FailingThreads threads(thread);
      const service::test::FailingMemory memory(n);
      const auto summary = run(source, sink, *engine, settings, {});
      ran_out = memory.failed();
      refused = threads.failed();
      if (refused) {
        ASSERT_FALSE(summary) << thread << ", " << n;
      }
      if (!summary) {
        EXPECT_EQ(summary.error().code(), StatusCode::kBusy) << summary.error().to_string();
      }
    }
  }
}

}  // namespace
}  // namespace framewire::batch
