// Lanes that work before their first request.
#include <gtest/gtest.h>
#include <tests/unit/engine/fake_lanes.hpp>

namespace framewire::engine {
namespace {

using namespace fake;

EngineOptions warm() {
  EngineOptions options;
  options.warm_bytes = 1;
  options.max_batch = 6;  // the fake codec takes its time with each image
  return options;
}

TEST(WarmUp, LanesRunBatchesBeforeTheEngineIsThere) {
  Script script;
  const auto engine = make(devices_of({&script}, 2), warm());
  const int batches = script.batches;
  EXPECT_GE(batches, 2 * 2) << "of one image and of many, on each lane";
  EXPECT_GT(script.largest, 1u);
  EXPECT_EQ(engine->stats().gpu_images, 0u) << "nobody asked for them";
  EXPECT_EQ(engine->stats().batches, 0u);
  const auto made = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->bytes, one(*engine, photos()[0], width(16, CodecKind::kTurbo))->bytes);
  EXPECT_EQ(script.batches, batches + 1);
}

TEST(WarmUp, BatchesStayWithinTheMemoryThatLanesTook) {
  Script script;
  script.item_bytes = 300;  // of 1,000 that the codec says it holds
  const auto engine = make(devices_of({&script}, 1), warm());
  EXPECT_EQ(script.largest, 3u);
}

TEST(WarmUp, NobodyDoesItUnasked) {
  Script script;
  const auto engine = make(devices_of({&script}, 2));
  EXPECT_EQ(script.batches, 0);
}

TEST(WarmUp, ADeviceThatFailsMeanwhileIsNoEngine) {
  Script script;
  script.lose_at = 3;
  EngineOptions options = warm();
  options.threads = 1;
  const auto made = Dispatcher::make(options, devices_of({&script}, 2));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kDeviceLost);
}

}  // namespace
}  // namespace framewire::engine
