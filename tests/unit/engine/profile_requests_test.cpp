// Requests whose profile takes long to prepare: they wait together, and others do not wait for
// them.
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/strict_refusal.hpp>
#include <engine/conversion_queue.hpp>
#include <future>
#include <jpeg/icc.hpp>
#include <stop_token>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/simple_profiles.hpp>
#include <tests/unit/engine/fake_lanes.hpp>
#include <thread>

namespace framewire::engine {
namespace {

using namespace fake;
using color::ProfileConversion;
using color::Side;

Bytes with_profile(const Bytes& image, const Bytes& profile) {
  Bytes segments;
  EXPECT_TRUE(jpeg::write_icc(segments, profile));
  Bytes out = image;
  out.insert(out.begin() + 2, segments.begin(), segments.end());
  return out;
}

/// Lookup tables that LittleCMS converts, one for each number.
const Bytes& table_profile(std::size_t number) {
  static std::vector<Bytes> all;
  while (all.size() <= number) {
    Bytes icc = color::testing_profiles::wavy_rgb_profile();
    icc[icc.size() / 2] ^= static_cast<std::uint8_t>(all.size());  // of a node
    all.push_back(std::move(icc));
  }
  return all[number];
}

/// A table to a connection space that there is none of: it looks sound, and makes no transform.
Bytes impossible_profile() {
  Bytes icc = table_profile(0);
  std::copy_n("XXXX", 4, icc.begin() + 20);
  return icc;
}

Bytes expected(const Bytes& jpeg) {
  ResizeOptions options = width(32, CodecKind::kTurbo);
  return test::resize_or_die(jpeg, options).bytes;
}

class ProfileRequests : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Dispatcher> make_engine(EngineOptions options = {}) {
    return GetParam() ? make(devices_of({&script_}, 2), options) : make({}, options);
  }
  Script script_;
};

TEST_P(ProfileRequests, ManyOfOneProfilePrepareItOnce) {
  const auto engine = make_engine();
  const Bytes jpeg = with_profile(photos()[0], table_profile(0));
  std::vector<std::promise<Result<Resized>>> answers(30);
  for (auto& answer : answers) {
    submit(*engine, jpeg, width(32), [&](Result<Resized> r) { answer.set_value(std::move(r)); });
  }
  for (auto& answer : answers) {
    const auto made = answer.get_future().get();
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->bytes, expected(jpeg));
    EXPECT_TRUE(made->report.color_converted);
    EXPECT_TRUE(made->report.warnings.empty());
  }
  EXPECT_EQ(engine->stats().profiles.prepared, 1u);
  EXPECT_EQ(engine->stats().fallbacks, 0u);
}

TEST_P(ProfileRequests, EachOfManyProfilesAmongOthers) {
  EngineOptions options;
  options.profile_bytes = 1u << 20;  // holds two of the ten
  const auto engine = make_engine(options);
  const Bytes simple = with_profile(
      photos()[1], color::testing_profiles::rgb_profile(color::testing_profiles::kDisplayP3));
  std::vector<Bytes> inputs;
  for (std::size_t i = 0; i < 10; ++i) {
    inputs.push_back(with_profile(photos()[i % photos().size()], table_profile(i)));
    inputs.push_back(simple);
    inputs.push_back(photos()[2]);
  }
  std::vector<std::promise<Result<Resized>>> answers(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    submit(*engine, inputs[i], width(32),
           [&, i](Result<Resized> r) { answers[i].set_value(std::move(r)); });
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto made = answers[i].get_future().get();
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->bytes, expected(inputs[i])) << i;
  }
  EXPECT_GE(engine->stats().profiles.prepared, 10u);
  EXPECT_LE(engine->stats().profiles.bytes, 1u << 20);
}

TEST_P(ProfileRequests, AProfileThatMakesNoTransformIsIgnored) {
  const auto engine = make_engine();
  const Bytes jpeg = with_profile(photos()[0], impossible_profile());
  const auto made = one(*engine, jpeg, width(32));
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_EQ(test::kinds(made->report), std::vector<std::string>{"icc_ignored"});
  EXPECT_FALSE(made->report.color_converted);
  EXPECT_EQ(made->bytes, expected(photos()[0]));
  ResizeOptions strict = width(32);
  strict.strict = true;
  const auto refused = one(*engine, jpeg, strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_TRUE(refused.error().message().starts_with("icc_ignored: "));
  EXPECT_TRUE(refused.error().message().ends_with(codec::kStrictNote));
}

TEST_P(ProfileRequests, WhatTheDeviceLeavesToTheHostIsConvertedThere) {
  script_.give_up = true;
  const auto engine = make_engine();
  const Bytes jpeg = with_profile(photos()[0], table_profile(1));
  const auto made = one(*engine, jpeg, width(32));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->bytes, expected(jpeg));
  EXPECT_EQ(made->report.codec, CodecKind::kTurbo);
}

TEST_P(ProfileRequests, FilesThatAHostThreadReadsFirstWaitToo) {
  const auto engine = make_engine();
  const Bytes jpeg = with_profile(progressive_photo(), table_profile(2));
  const auto made = one(*engine, jpeg, width(32));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->bytes, expected(jpeg));
  EXPECT_EQ(made->report.codec, GetParam() ? CodecKind::kCuda : CodecKind::kTurbo);
}

class ProfileRequestsAttack : public ProfileRequests {};

// One thread of each kind: were profiles prepared where requests are worked on, the last request
// would be answered last.
TEST_P(ProfileRequestsAttack, OthersGoOnWhileNewProfilesArePrepared) {
  EngineOptions options;
  options.threads = 1;
  const auto engine = GetParam() ? make(devices_of({&script_}, 1), options) : make({}, options);
  constexpr std::size_t kProfiles = 30;
  std::vector<Bytes> inputs;
  for (std::size_t i = 0; i < kProfiles; ++i) {
    inputs.push_back(with_profile(photos()[0], table_profile(i)));
  }
  inputs.push_back(with_profile(
      photos()[1], color::testing_profiles::rgb_profile(color::testing_profiles::kDisplayP3)));
  std::atomic<std::size_t> answered{0};
  std::size_t before_the_other = 0;
  for (const Bytes& input : inputs) {
    submit(*engine, input, width(32), [&](const Result<Resized>& made) {
      EXPECT_TRUE(made);
      const std::size_t earlier = answered++;
      if (&input == &inputs.back()) before_the_other = earlier;
    });
  }
  engine->drain();
  EXPECT_EQ(answered, inputs.size());
  EXPECT_LT(before_the_other, kProfiles);
  EXPECT_GE(engine->stats().profiles.prepared, kProfiles);
}

INSTANTIATE_TEST_SUITE_P(Engines, ProfileRequestsAttack, testing::Bool(),
                         [](const auto& param) { return param.param ? "Device" : "Host"; });
INSTANTIATE_TEST_SUITE_P(Engines, ProfileRequests, testing::Bool(),
                         [](const auto& param) { return param.param ? "Device" : "Host"; });

/// A request that waits for a conversion, as the queue sees it.
WorkPtr waiting(std::shared_ptr<const ProfileConversion> conversion, Side side = Side::kDevice) {
  auto work = std::make_unique<Work>();
  work->request.conversion = std::move(conversion);
  work->side = side;
  return work;
}

std::shared_ptr<const ProfileConversion> conversion_of(std::size_t number) {
  const Bytes& icc = table_profile(number);
  return std::make_shared<const ProfileConversion>(icc, 3);
}

TEST(EngineConversionQueue, HandsOutEachConversionToOneThread) {
  QueueWatch watch;
  ConversionQueue queue(watch);
  queue.expect_threads(2);
  const auto a = conversion_of(3), b = conversion_of(4);
  queue.push(waiting(a));
  queue.push(waiting(a));
  queue.push(waiting(b));
  const WorkPtr first = queue.take();
  const WorkPtr second = queue.take();
  EXPECT_EQ(first->request.conversion, a);
  EXPECT_EQ(second->request.conversion, b) << "somebody prepares the other";
  ASSERT_TRUE(a->prepare(Side::kDevice));
  WorkList ready = queue.complete(a.get());
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready.front().request.conversion, a);
  EXPECT_TRUE(queue.complete(b.get()).empty());
}

TEST(EngineConversionQueue, WhoWaitsForTheOtherSideComesNext) {
  QueueWatch watch;
  ConversionQueue queue(watch);
  queue.expect_threads(1);
  const auto a = conversion_of(5);
  queue.push(waiting(a, Side::kDevice));
  queue.push(waiting(a, Side::kHost));
  const WorkPtr first = queue.take();
  ASSERT_TRUE(a->prepare(Side::kDevice));
  EXPECT_TRUE(queue.complete(a.get()).empty());
  EXPECT_EQ(queue.take()->side, Side::kHost);
}

TEST(EngineConversionQueue, OneClientsProfilesDoNotHoldUpAnothers) {
  QueueWatch watch;
  ConversionQueue queue(watch);
  queue.expect_threads(2);
  const auto push = [&](std::uint64_t client, std::size_t number) {
    WorkPtr work = waiting(conversion_of(number));
    work->client = client;
    queue.push(std::move(work));
  };
  for (std::size_t i = 0; i < 4; ++i) push(1, 20 + i);
  const WorkPtr first = queue.take();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  push(2, 30);
  EXPECT_EQ(queue.take()->client, 2u);
  EXPECT_TRUE(queue.complete(first->request.conversion.get()).empty());
  const WorkPtr next = queue.take();
  EXPECT_EQ(next->client, 1u);
  EXPECT_TRUE(queue.complete(next->request.conversion.get()).empty());
  EXPECT_EQ(queue.take()->client, 1u) << "what is passed over is still there";
}

TEST(EngineConversionQueue, GivesUpWhatIsCancelledOrLate) {
  QueueWatch watch;
  ConversionQueue queue(watch);
  queue.expect_threads(1);
  const auto a = conversion_of(6);
  std::stop_source stop;
  WorkPtr cancelled = waiting(a), late = waiting(a), stays = waiting(a);
  cancelled->stop = stop.get_token();
  late->deadline = base::Clock::now() - std::chrono::milliseconds(1);
  const auto later = base::Clock::now() + std::chrono::hours(1);
  stays->deadline = later;
  queue.push(std::move(cancelled));
  queue.push(std::move(late));
  queue.push(std::move(stays));
  stop.request_stop();
  WorkList over;
  EXPECT_EQ(queue.remove_over(over), later);
  EXPECT_EQ(over.size(), 2u);
  queue.close();
  EXPECT_EQ(queue.take()->deadline, later);
  EXPECT_TRUE(queue.complete(a.get()).empty());
  EXPECT_EQ(queue.take(), nullptr);
}

}  // namespace
}  // namespace framewire::engine
