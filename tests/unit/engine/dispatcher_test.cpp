// The engine's machinery without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <framewire/engine.hpp>
#include <future>
#include <tests/unit/engine/fake_lanes.hpp>
#include <thread>

namespace framewire::engine {
namespace {

using namespace fake;
using testing::HasSubstr;

TEST(EngineDispatcher, ADeviceGivesWhatTheHostGives) {
  Script script;
  const auto engine = make(devices_of({&script}, 2));
  for (const Bytes& photo : photos()) {
    const auto device = one(*engine, photo, width(32));
    const auto host = one(*engine, photo, width(32, CodecKind::kTurbo));
    ASSERT_TRUE(device && host);
    EXPECT_EQ(device->bytes, host->bytes);
    EXPECT_EQ(device->report.codec, CodecKind::kCuda);
    EXPECT_EQ(host->report.codec, CodecKind::kTurbo);
    EXPECT_EQ(device->report.output.width_px, 32);
    EXPECT_EQ(device->report.quality, 80);
    EXPECT_EQ(device->report.output.bytes, device->bytes.size());
    EXPECT_GT(device->report.times.total_us, 0);
  }
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.gpu_images, photos().size());
  EXPECT_EQ(stats.host_images, photos().size());
  EXPECT_EQ(stats.fallbacks, 0u);
  EXPECT_GE(stats.device_bytes, 1000u);
}

TEST(EngineDispatcher, ADeviceIsToldWhatLiesInTheEnginesMemory) {
  Script script;
  std::vector<DeviceLanes> devices = devices_of({&script}, 2);
  devices[0].allocate_input = [](std::size_t bytes) -> Result<HostMemory> {
    const auto memory = std::make_shared<Bytes>(bytes);
    return HostMemory(memory, memory->data());
  };
  const auto engine = make(std::move(devices));
  const Bytes& photo = photos()[0];
  const auto expected = one(*engine, photo, width(32));
  ASSERT_TRUE(expected);
  EXPECT_EQ(script.pinned, 0);
  auto block = engine->inputs()->take(photo.size() + 7);
  ASSERT_TRUE(block);
  EXPECT_GE(engine->stats().pinned_bytes, photo.size());
  std::uint8_t* begin = block->memory.get() + 7;
  std::copy(photo.begin(), photo.end(), begin);
  std::promise<Result<Resized>> answer;
  EngineRequest request{{begin, photo.size()}, width(32), [&](Result<Resized> made) {
                          answer.set_value(std::move(made));
                        }};
  engine->submit({&request, 1});
  const auto made = answer.get_future().get();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->bytes, expected->bytes);
  EXPECT_EQ(script.pinned, 1);
}

TEST(EngineDispatcher, ManySubmittersEveryRequestIsAnsweredOnce) {
  Script script;
  EngineOptions options;
  options.queue = 16;
  const auto engine = make(devices_of({&script}, 3), options);
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  AnswerCounts answers;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        submit(*engine, photos()[static_cast<std::size_t>(t + i) % photos().size()],
               width(16 + i % 3), answers.callback());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  engine->drain();
  EXPECT_EQ(answers.ok, kThreads * kEach);
  EXPECT_EQ(engine->stats().gpu_images, static_cast<std::uint64_t>(kThreads * kEach));
}

TEST(EngineDispatcher, RequestsThatComeWhileTheDeviceIsBusyShareABatch) {
  Script script;
  script.held = true;
  EngineOptions options;
  options.batch_wait_us = 20'000;
  options.max_batch = 8;
  const auto engine = make(devices_of({&script}, 2), options);
  AnswerCounts answers;
  for (int lanes = 1; lanes <= 2; ++lanes) {
    submit(*engine, photos()[0], width(16), answers.callback());
    EXPECT_TRUE(comes_to_hold([&] { return script.batches == lanes; }));
  }
  for (int i = 0; i < 31; ++i) submit(*engine, photos()[0], width(16), answers.callback());
  script.release();
  engine->drain();
  EXPECT_EQ(answers.ok, 33);
  EXPECT_EQ(script.largest, 8u);
  EXPECT_LE(script.batches, 12);
}

TEST(EngineDispatcher, WhatIsSubmittedTogetherSharesABatch) {
  Script script;
  EngineOptions options;
  options.queue = 80;
  const auto engine = make(devices_of({&script}, 1), options);
  AnswerCounts answers;
  std::vector<EngineRequest> requests(40);
  for (EngineRequest& request : requests) request = {photos()[0], width(16), answers.callback()};
  engine->submit(requests);
  engine->drain();
  EXPECT_EQ(answers.ok, 40);
  EXPECT_EQ(script.largest, 40u);
}

TEST(EngineDispatcher, LanesThatWaitShareWhatIsSubmittedTogether) {
  // Whether lanes wait already nobody outside can tell: they get more time from round to round.
  std::size_t largest = 100;
  for (int wait_ms = 50; wait_ms < 5000 && largest > 60; wait_ms *= 2) {
    Script script;
    script.batch_time = std::chrono::milliseconds(20);
    const auto engine = make(devices_of({&script}, 4));
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    AnswerCounts answers;
    std::vector<EngineRequest> requests(100);
    for (EngineRequest& request : requests) request = {photos()[0], width(16), answers.callback()};
    engine->submit(requests);
    engine->drain();
    EXPECT_EQ(answers.ok, 100);
    largest = script.largest;
    EXPECT_GE(largest, 16u);
  }
  EXPECT_LE(largest, 60u);
}

TEST(EngineDispatcher, ALoneRequestDoesNotWaitForOthers) {
  Script script;
  EngineOptions options;
  options.batch_wait_us = 60'000'000;
  const auto engine = make(devices_of({&script}, 2), options);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(one(*engine, photos()[0], width(16)));
  EXPECT_TRUE(one(*engine, photos()[1], width(16)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
}

TEST(EngineDispatcher, ABatchStaysWithinTheLanesMemory) {
  Script script;
  script.item_bytes = 100;
  auto devices = devices_of({&script}, 1);
  devices[0].lane_bytes = 350;
  script.batch_time = std::chrono::milliseconds(5);
  const auto engine = make(std::move(devices));
  AnswerCounts answers;
  for (int i = 0; i < 30; ++i) submit(*engine, photos()[0], width(16), answers.callback());
  engine->drain();
  EXPECT_EQ(answers.ok, 30);
  EXPECT_LE(script.largest, 3u);
  EXPECT_EQ(engine->stats().fallbacks, 0u);
}

TEST(EngineDispatcher, WhatExceedsTheLanesMemoryIsDoneOnTheHost) {
  Script script;
  script.item_bytes = 1u << 20;
  auto devices = devices_of({&script}, 1);
  devices[0].lane_bytes = 1000;
  const auto engine = make(std::move(devices));
  const auto out = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->report.codec, CodecKind::kTurbo);
  EXPECT_THAT(out->report.codec_reason, HasSubstr("GPU memory"));
  EXPECT_TRUE(out->report.warnings.empty()) << "auto may choose";
  EXPECT_EQ(engine->stats().fallbacks, 1u);
}

TEST(EngineDispatcher, AFallbackFromANamedCodecIsAWarningWhichStrictRefuses) {
  for (const bool found_late : {false, true}) {
    Script script;
    (found_late ? script.give_up : script.refuse) = true;
    const auto engine = make(devices_of({&script}, 1));
    ResizeOptions options = width(16, CodecKind::kCuda);
    const auto out = one(*engine, photos()[0], options);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->report.codec, CodecKind::kTurbo);
    ASSERT_EQ(out->report.warnings.size(), 1u);
    EXPECT_EQ(out->report.warnings[0].kind, WarningKind::kCodecFallback);
    options.strict = true;
    const auto refused = one(*engine, photos()[0], options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  }
}

TEST(EngineDispatcher, MemoryThatRunsOutOnTheDeviceIsNoFailure) {
  Script script;
  script.busy_at = 0;
  const auto engine = make(devices_of({&script}, 1));
  const auto first = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->report.codec, CodecKind::kTurbo);
  const auto second = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->report.codec, CodecKind::kCuda);
}

TEST(EngineDispatcher, AFaultOfOneBatchCostsNoDevice) {
  Script script;
  script.fault_at = 0;
  const auto engine = make(devices_of({&script}, 1));
  const auto first = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->report.codec, CodecKind::kTurbo);
  EXPECT_THAT(first->report.codec_reason, HasSubstr("a fault of this batch"));
  EXPECT_FALSE(engine->devices()[0].lost);
  const auto second = one(*engine, photos()[0], width(16));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->report.codec, CodecKind::kCuda);
}

TEST(EngineDispatcher, ALostDeviceIsRetiredAndOthersGoOn) {
  Script bad;
  Script good;
  bad.lose_at = 1;
  bad.batch_time = std::chrono::milliseconds(1);
  good.batch_time = std::chrono::milliseconds(1);
  good.held = true;  // so that the other gets a second batch
  EngineOptions options;
  options.max_batch = 4;
  const auto engine = make(devices_of({&bad, &good}, 2), options);
  AnswerCounts answers;
  for (int i = 0; i < 400; ++i) submit(*engine, photos()[0], width(16), answers.callback());
  EXPECT_TRUE(comes_to_hold([&] { return engine->devices()[0].lost; }));
  good.release();
  engine->drain();
  EXPECT_EQ(answers.ok + answers.lost, 400);
  EXPECT_EQ(answers.other, 0);
  EXPECT_LE(answers.lost, 8) << "a batch of each of the lost device's lanes at most";
  EXPECT_GT(answers.lost, 0);
  const auto devices = engine->devices();
  EXPECT_TRUE(devices[0].lost);
  EXPECT_FALSE(devices[1].lost);
  const int before = bad.batches;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(one(*engine, photos()[0], width(16)));
  EXPECT_EQ(bad.batches, before);
}

TEST(EngineDispatcher, WithoutAnyDeviceLeftAutoGoesOnAndANamedCodecSaysSo) {
  Script script;
  script.lose_at = 0;
  const auto engine = make(devices_of({&script}, 3));
  const auto lost = one(*engine, photos()[0], width(16));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), StatusCode::kDeviceLost);
  EXPECT_THAT(lost.error().message(), HasSubstr("fell off the bus"));
  for (int i = 0; i < 20; ++i) {
    const auto out = one(*engine, photos()[0], width(16));
    ASSERT_TRUE(out);
    EXPECT_EQ(out->report.codec, CodecKind::kTurbo);
    const auto named = one(*engine, photos()[0], width(16, CodecKind::kCuda));
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().code(), StatusCode::kDeviceLost);
  }
}

TEST(EngineDispatcher, OneBadImageHarmsNoNeighbour) {
  Script script;
  const auto engine = make(devices_of({&script}, 1));
  Bytes broken = photos()[0];
  broken.resize(10);
  AnswerCounts answers;
  AnswerCounts bad;
  for (int i = 0; i < 20; ++i) {
    submit(*engine, photos()[1], width(16), answers.callback());
    submit(*engine, broken, width(16), bad.callback());
  }
  engine->drain();
  EXPECT_EQ(answers.ok, 20);
  EXPECT_EQ(bad.other, 20);
  EXPECT_EQ(engine->stats().failures, 20u);
}

TEST(EngineDispatcher, WhatWaitedTooLongIsRefused) {
  Script script;
  script.held = true;
  EngineOptions options;
  options.max_batch = 1;
  const auto engine = make(devices_of({&script}, 1), options);
  AnswerCounts answers;
  ResizeOptions hurried = width(16);
  hurried.limits.deadline_ms = 20;
  submit(*engine, photos()[0], width(16), answers.callback());
  EXPECT_TRUE(comes_to_hold([&] { return script.batches == 1; }));
  submit(*engine, photos()[0], width(16), answers.callback());
  StatusCode code = StatusCode::kInternal;
  std::string subject;
  submit(*engine, photos()[0], hurried, [&](const Result<Resized>& r) {
    if (r) return;
    code = r.error().code();
    subject = r.error().subject();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  script.release();
  engine->drain();
  EXPECT_EQ(answers.ok, 2);
  EXPECT_EQ(code, StatusCode::kDeadline);
  EXPECT_EQ(subject, "queue");
}

TEST(EngineDispatcher, ProgressiveFilesPassThroughAHostThread) {
  Script script;
  const auto engine = make(devices_of({&script}, 1));
  const Bytes jpeg = progressive_photo();
  const auto device = one(*engine, jpeg, width(40));
  const auto host = one(*engine, jpeg, width(40, CodecKind::kTurbo));
  ASSERT_TRUE(device && host);
  EXPECT_EQ(device->report.codec, CodecKind::kCuda);
  EXPECT_EQ(device->bytes, host->bytes);
}

TEST(EngineDispatcher, EverythingSubmittedIsAnsweredBeforeTheEngineEnds) {
  Script script;
  script.batch_time = std::chrono::milliseconds(2);
  AnswerCounts answers;
  {
    const auto engine = make(devices_of({&script}, 2));
    for (int i = 0; i < 60; ++i) submit(*engine, photos()[0], width(16), answers.callback());
  }
  EXPECT_EQ(answers.ok, 60);
}

TEST(EngineDispatcher, ALaneThatCannotBeMadeIsAnError) {
  std::vector<DeviceLanes> devices(1);
  devices[0].lanes = 3;
  devices[0].make_codec = [](LaneKind) -> Result<std::unique_ptr<codec::BatchCodec>> {
    return fail(StatusCode::kDeviceLost, "no such luck");
  };
  const auto made = Dispatcher::make({}, std::move(devices));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kDeviceLost);
}

}  // namespace
}  // namespace framewire::engine
