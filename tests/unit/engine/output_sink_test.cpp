// Streams written to memory of the caller's, from host threads and from lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <tests/unit/engine/fake_lanes.hpp>
#include <tests/unit/engine/metadata_parts.hpp>

namespace framewire::engine {
namespace {

using namespace fake;
using testing::HasSubstr;

constexpr std::uint8_t kUntouched = 0xA5;

/// An engine with lanes, or without.
class OutputSinkOn : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] Result<Resized> resize(const Bytes& jpeg, const OutputSink& sink,
                                       const ResizeOptions& options = width(32)) {
    std::promise<Result<Resized>> answer;
    EngineRequest request{jpeg, options,
                          [&](Result<Resized> made) { answer.set_value(std::move(made)); }, sink};
    engine_->submit({&request, 1});
    return answer.get_future().get();
  }

  Script script_;
  std::unique_ptr<Dispatcher> engine_ =
      make(GetParam() ? devices_of({&script_}, 2) : std::vector<DeviceLanes>());
};
INSTANTIATE_TEST_SUITE_P(Engine, OutputSinkOn, testing::Bool(),
                         [](const auto& lanes) { return lanes.param ? "Lanes" : "HostThreads"; });

TEST_P(OutputSinkOn, ASpanGetsTheVeryStreamAndNothingBehindIt) {
  const auto expected = resize(photos()[0], {});
  ASSERT_TRUE(expected);
  EXPECT_TRUE(expected->written.empty());
  for (const std::size_t more : {std::size_t{0}, std::size_t{100}}) {
    Bytes memory(expected->bytes.size() + more, kUntouched);
    const auto made = resize(photos()[0], OutputSink(memory));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->bytes.empty());
    EXPECT_EQ(made->written.data(), memory.data());
    EXPECT_EQ(made->report.output.bytes, expected->bytes.size());
    EXPECT_EQ(Bytes(made->written.begin(), made->written.end()), expected->bytes);
    EXPECT_EQ(std::count(memory.begin() + static_cast<std::ptrdiff_t>(made->written.size()),
                         memory.end(), kUntouched),
              static_cast<std::ptrdiff_t>(more));
  }
}

TEST_P(OutputSinkOn, AFunctionIsAskedOnceForTheVerySize) {
  const auto expected = resize(photos()[1], {});
  ASSERT_TRUE(expected);
  Bytes memory;
  int calls = 0;
  const auto made = resize(photos()[1], OutputSink([&](std::size_t bytes) {
                             ++calls;
                             memory.assign(bytes, 0);
                             return std::span(memory);
                           }));
  ASSERT_TRUE(made);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(memory, expected->bytes);
  EXPECT_EQ(made->written.data(), memory.data());
}

TEST_P(OutputSinkOn, TooSmallASpanSaysHowManyBytesAreNeededAndStaysAsItWas) {
  const auto expected = resize(photos()[0], {});
  ASSERT_TRUE(expected);
  Bytes memory(expected->bytes.size() - 1, kUntouched);
  const auto refused = resize(photos()[0], OutputSink(memory));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
  EXPECT_EQ(refused.error().subject(), "sink");
  EXPECT_THAT(refused.error().message(), HasSubstr(std::to_string(expected->bytes.size())));
  EXPECT_EQ(std::count(memory.begin(), memory.end(), kUntouched),
            static_cast<std::ptrdiff_t>(memory.size()));
  EXPECT_EQ(resize(photos()[0], OutputSink(std::span<std::uint8_t>())).error().code(),
            StatusCode::kTooLarge)
      << "an empty span is a sink as well";
}

TEST_P(OutputSinkOn, AFunctionThatThrowsOrGivesTooLittleIsAnError) {
  const auto refusal = [&](const OutputSink::Allocate& allocate) {
    const auto made = resize(photos()[0], OutputSink(allocate));
    EXPECT_FALSE(made);
    return made ? Status(StatusCode::kInternal, "made") : made.error();
  };
  Bytes memory(10, kUntouched);
  EXPECT_EQ(refusal([&](std::size_t) { return std::span(memory); }).code(), StatusCode::kTooLarge);
  EXPECT_EQ(memory, Bytes(10, kUntouched));
  EXPECT_EQ(refusal([](std::size_t) -> std::span<std::uint8_t> { throw std::bad_alloc(); }).code(),
            StatusCode::kBusy);
  const Status status =
      refusal([](std::size_t) -> std::span<std::uint8_t> { throw std::runtime_error("no quota"); });
  EXPECT_EQ(status.code(), StatusCode::kInvalidInput);
  EXPECT_THAT(status.message(), HasSubstr("no quota"));
  EXPECT_EQ(refusal([](std::size_t) -> std::span<std::uint8_t> { throw 1; }).code(),
            StatusCode::kInvalidInput);
  EXPECT_TRUE(resize(photos()[0], {})) << "the engine goes on";
}

TEST_P(OutputSinkOn, AFailedRequestNeverAsks) {
  Bytes broken = photos()[0];
  broken.resize(10);
  int calls = 0;
  EXPECT_FALSE(resize(broken, OutputSink([&](std::size_t) {
                        ++calls;
                        return std::span<std::uint8_t>();
                      })));
  EXPECT_EQ(calls, 0);
}

TEST_P(OutputSinkOn, GainMapsAndOriginalsThatAreHandedOnGoThereToo) {
  const Bytes with_gain_map = test::ultra_hdr();
  ResizeOptions no_change;
  const Bytes small = sample::make({64, 48, JCS_YCbCr, 2, 2, 30}, smooth);
  for (const auto& [jpeg, options] :
       {std::pair{with_gain_map, width(48)}, std::pair{small, no_change}}) {
    const auto expected = resize(jpeg, {}, options);
    ASSERT_TRUE(expected);
    EXPECT_TRUE(expected->report.gain_map_kept || expected->report.original_kept);
    Bytes memory(expected->bytes.size(), kUntouched);
    const auto made = resize(jpeg, OutputSink(memory), options);
    ASSERT_TRUE(made);
    EXPECT_EQ(memory, expected->bytes);
  }
}

TEST(OutputSink, WhatTheDeviceGivesUpIsWrittenOnceAllTheSame) {
  Script script;
  script.give_up = true;
  const auto engine = make(devices_of({&script}, 1));
  int calls = 0;
  Bytes memory(1 << 16);
  std::promise<Result<Resized>> answer;
  EngineRequest request{photos()[0], width(32),
                        [&](Result<Resized> made) { answer.set_value(std::move(made)); },
                        OutputSink([&](std::size_t) {
                          ++calls;
                          return std::span(memory);
                        })};
  engine->submit({&request, 1});
  const auto made = answer.get_future().get();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->report.codec, CodecKind::kTurbo);
  EXPECT_EQ(calls, 1);
}

TEST(OutputSink, ManyRequestsWriteIntoOneBufferWithoutMeeting) {
  Script script;
  const auto engine = make(devices_of({&script}, 3));
  const auto expected = one(*engine, photos()[2], width(24));
  ASSERT_TRUE(expected);
  constexpr std::size_t kRequests = 200;
  const std::size_t each = expected->bytes.size();
  Bytes memory(kRequests * each);
  std::vector<EngineRequest> requests(kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests[i] = {photos()[2], width(24), [](const Result<Resized>& made) { EXPECT_TRUE(made); },
                   OutputSink(std::span(memory).subspan(i * each, each))};
  }
  engine->submit(requests);
  engine->drain();
  for (std::size_t i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(std::equal(expected->bytes.begin(), expected->bytes.end(),
                           memory.begin() + static_cast<std::ptrdiff_t>(i * each)))
        << i;
  }
}

}  // namespace
}  // namespace framewire::engine
