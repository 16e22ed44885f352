// Who decodes the scans of progressive files: host threads while few wait for them, lanes
// otherwise.
#include <gtest/gtest.h>
#include <chrono>
#include <future>
#include <tests/unit/engine/fake_lanes.hpp>
#include <tests/unit/engine/metadata_parts.hpp>
#include <vector>

namespace framewire::engine {
namespace {

using namespace fake;

constexpr int kImages = 20;

/// Requests borrow their bytes.
const Bytes& progressive() {
  static const Bytes made = progressive_photo();
  return made;
}

class ProgressiveLanes : public testing::Test {
 protected:
  void TearDown() override {
    let_go();
    if (engine_ != nullptr) release();
  }
  /// Of batches that are held.
  void let_go() {
    script_.held_progressive = false;
    script_.held_progressive.notify_all();
  }
  void start(std::size_t progressive_images, unsigned lanes = 1, unsigned max_batch = 0) {
    script_.progressive_images = progressive_images;
    EngineOptions options;
    options.threads = 1;
    options.max_batch = max_batch;
    engine_ = make(devices_of({&script_}, lanes), options);
  }
  /// Keeps the engine's only host thread from working until release().
  void occupy_host() {
    std::promise<void> occupied;
    submit(*engine_, photos()[0], width(16, CodecKind::kTurbo),
           [&, free = free_.get_future().share()](const Result<Resized>&) {
             occupied.set_value();
             free.wait();
           });
    occupied.get_future().wait();
  }
  void release() {
    if (!std::exchange(released_, true)) free_.set_value();
    engine_->drain();
  }
  /// Submits them together. @return one answer each
  std::vector<std::future<Result<Resized>>> submit_all(const Bytes& jpeg, int count) {
    std::vector<std::future<Result<Resized>>> answers;
    std::vector<EngineRequest> requests;
    for (int i = 0; i < count; ++i) {
      auto promise = std::make_shared<std::promise<Result<Resized>>>();
      answers.push_back(promise->get_future());
      requests.push_back({jpeg, width(32), [promise](Result<Resized> made) {
                            promise->set_value(std::move(made));
                          }});
    }
    engine_->submit(requests);
    return answers;
  }

  Script script_;
  std::promise<void> free_;
  bool released_ = false;
  std::unique_ptr<Dispatcher> engine_;
};

/// Whether all answers come; those that have come must be sound.
bool all_answered(std::vector<std::future<Result<Resized>>>& answers, std::chrono::seconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  for (auto& answer : answers) {
    if (answer.wait_until(until) != std::future_status::ready) return false;
    const auto made = answer.get();
    EXPECT_TRUE(made) << made.error().to_string();
  }
  return true;
}

constexpr std::chrono::seconds kLong{120};

TEST_F(ProgressiveLanes, ManyThatWaitMakeABatchOfTheirOwn) {
  start(kImages);
  occupy_host();
  auto answers = submit_all(progressive(), kImages);
  EXPECT_TRUE(all_answered(answers, kLong)) << "though no host thread is free";
  EXPECT_EQ(script_.progressive_scans, kImages);
  EXPECT_EQ(script_.with_coefficients, 0);
  EXPECT_EQ(script_.largest, static_cast<std::size_t>(kImages));
}

/// A device is the faster way only in batches of so many.
TEST_F(ProgressiveLanes, HostThreadsDecodeWhereBatchesMayNotBeLarge) {
  start(kImages, 1, kImages - 1);
  auto answers = submit_all(progressive(), 2 * kImages);
  EXPECT_TRUE(all_answered(answers, kLong));
  EXPECT_EQ(script_.progressive_scans, 0);
  EXPECT_EQ(script_.with_coefficients, 2 * kImages);
}

TEST_F(ProgressiveLanes, FewAreLeftToHostThreads) {
  start(kImages);
  occupy_host();
  auto answers = submit_all(progressive(), kImages - 1);
  auto others = submit_all(photos()[0], 3);
  EXPECT_TRUE(all_answered(others, kLong)) << "they wait for nobody";
  EXPECT_EQ(answers[0].wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  release();
  EXPECT_TRUE(all_answered(answers, kLong));
  EXPECT_EQ(script_.progressive_scans, 0);
  EXPECT_EQ(script_.with_coefficients, kImages - 1);
}

TEST_F(ProgressiveLanes, ACodecThatReadsNoneGetsCoefficients) {
  start(0);
  auto answers = submit_all(progressive(), kImages);
  EXPECT_TRUE(all_answered(answers, kLong));
  EXPECT_EQ(script_.progressive_scans, 0);
  EXPECT_EQ(script_.with_coefficients, kImages);
}

/// As if few had waited: with coefficients from a host thread, which no lane takes over again.
TEST_F(ProgressiveLanes, WhatADeviceGivesUpGoesTheWayOfTheFew) {
  start(kImages);
  script_.give_up = true;
  occupy_host();
  auto answers = submit_all(progressive(), kImages);
  auto others = submit_all(photos()[0], kImages);
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (script_.progressive_scans < kImages && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  release();
  EXPECT_TRUE(all_answered(answers, kLong));
  EXPECT_TRUE(all_answered(others, kLong));
  EXPECT_EQ(script_.progressive_scans, kImages);
  EXPECT_EQ(script_.with_coefficients, kImages);
  EXPECT_EQ(engine_->stats().fallbacks, static_cast<std::uint64_t>(2 * kImages));
}

TEST_F(ProgressiveLanes, WhoeverDecodesThePictureIsTheSame) {
  start(kImages);
  const auto alone = one(*engine_, progressive(), width(32));
  ASSERT_TRUE(alone);
  occupy_host();
  for (auto& answer : submit_all(progressive(), kImages)) {
    const auto made = answer.get();
    ASSERT_TRUE(made);
    EXPECT_EQ(made->bytes, alone->bytes);
    EXPECT_EQ(made->report.codec, CodecKind::kCuda);
  }
}

TEST_F(ProgressiveLanes, ALostDeviceAnswersThemToo) {
  start(kImages);
  script_.lose_at = 0;
  occupy_host();
  for (auto& answer : submit_all(progressive(), kImages)) {
    const auto made = answer.get();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), StatusCode::kDeviceLost);
  }
}

TEST_F(ProgressiveLanes, OthersGoOnWhileTheirBatchIsAtWork) {
  start(kImages);
  occupy_host();
  script_.held_progressive = true;
  auto answers = submit_all(progressive(), kImages);
  ASSERT_TRUE(comes_to_hold([&] { return script_.progressive_scans == kImages; }));
  auto others = submit_all(photos()[0], 3 * kImages);
  EXPECT_TRUE(all_answered(others, kLong)) << "the only other lane is free";
  EXPECT_EQ(answers[0].wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  let_go();
  EXPECT_TRUE(all_answered(answers, kLong));
}

/// Half of a batch has room in a lane's memory: the others wait for the next one.
TEST_F(ProgressiveLanes, WhatHasNoRoomInOneBatchIsInTheNext) {
  script_.progressive_images = kImages / 2;
  auto devices = devices_of({&script_}, 1);
  devices[0].lane_bytes = kImages / 2 / kProgressiveShare;
  EngineOptions options;
  options.threads = 1;
  engine_ = make(std::move(devices), options);
  occupy_host();
  auto answers = submit_all(progressive(), kImages);
  EXPECT_TRUE(all_answered(answers, kLong));
  EXPECT_EQ(script_.progressive_scans, kImages);
  EXPECT_LE(script_.largest, static_cast<std::size_t>(kImages / 2));
}

/// The host thread makes all gain maps first. Decoding the files behind that would keep it busy for
/// far longer than a lane needs to wake.
TEST_F(ProgressiveLanes, ThoseWithAGainMapToo) {
  sample::Spec spec{1200, 900, JCS_YCbCr, 2, 2, 90};
  spec.progressive = true;
  const Bytes jpeg = test::ultra_hdr(test::gain_map_stream(), sample::make(spec, smooth));
  start(kImages / 4);
  const auto alone = one(*engine_, jpeg, width(32));
  ASSERT_TRUE(alone);
  EXPECT_TRUE(alone->report.gain_map_kept);
  EXPECT_EQ(script_.with_coefficients, 1);
  occupy_host();
  std::vector<std::future<Result<Resized>>> answers;
  for (int i = 0; i < kImages; ++i) answers.push_back(std::move(submit_all(jpeg, 1).front()));
  ASSERT_TRUE(one(*engine_, photos()[0], width(16))) << "so they are with the host thread by now";
  release();
  for (auto& answer : answers) {
    const auto made = answer.get();
    ASSERT_TRUE(made);
    EXPECT_EQ(made->bytes, alone->bytes);
  }
  EXPECT_GE(script_.progressive_scans, kImages / 4);
}

}  // namespace
}  // namespace framewire::engine
