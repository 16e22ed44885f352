// The public Engine where no GPU is used.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <framewire/engine.hpp>
#include <tests/unit/engine/resized.hpp>
#include <thread>
#include <vector>

namespace framewire {
namespace {

using test::Bytes;
using test::photo;

ResizeOptions width(int px, CodecKind codec = CodecKind::kAuto) {
  ResizeOptions options;
  options.width_px = px;
  options.codec = codec;
  return options;
}

TEST(Engine, MemoryForInputsOutlivesItAndHoldsWhatIsPutIn) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  InputMemory memory;
  EXPECT_TRUE(memory.bytes().empty());
  {
    auto engine = Engine::make(options);
    ASSERT_TRUE(engine);
    const Bytes jpeg = photo();
    auto made = engine->input_memory(jpeg.size());
    ASSERT_TRUE(made);
    memory = std::move(*made);
    EXPECT_TRUE(made->bytes().empty());
    ASSERT_EQ(memory.bytes().size(), jpeg.size());
    std::copy(jpeg.begin(), jpeg.end(), memory.bytes().begin());
    const auto resized = engine->resize(memory.bytes(), width(32));
    ASSERT_TRUE(resized);
    EXPECT_EQ(resized->bytes, engine->resize(jpeg, width(32))->bytes);
  }
  std::fill(memory.bytes().begin(), memory.bytes().end(), std::uint8_t{1});
  EXPECT_EQ(memory.bytes().back(), 1);
}

TEST(Engine, WithoutAGpuAutoRunsOnHostThreads) {
  const Bytes jpeg = photo();
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 2;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->devices().empty());
  EXPECT_FALSE(engine->no_device_reason().empty());
  auto future = engine->submit(jpeg, width(20));
  const auto out = future.get();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->report.codec, CodecKind::kTurbo);
  EXPECT_EQ(out->bytes, Resizer().resize(jpeg, width(20))->bytes);
  const auto refused = engine->resize(jpeg, width(20, CodecKind::kCuda));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.error().subject(), "codec");
}

TEST(Engine, ACodecThatDoesNotExistIsRefusedAsInAnyRequest) {
  EngineOptions options;
  options.codec = static_cast<CodecKind>(77);
  const auto made = Engine::make(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(made.error().subject(), "codec");
}

TEST(Engine, ReferenceIsAnEnginesCodecToo) {
  const Bytes jpeg = photo();
  EngineOptions options;
  options.codec = CodecKind::kReference;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const auto out = engine->resize(jpeg, width(20));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->report.codec, CodecKind::kReference);
}

TEST(Engine, ACallbackThatThrowsIsItsOwnAffair) {
  const Bytes jpeg = photo();
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  engine->submit(jpeg, width(20), [](const Result<Resized>&) { throw 1; });
  engine->drain();
  EXPECT_TRUE(engine->resize(jpeg, width(20)));
}

TEST(Engine, WorksOnTheCallersThreadWhereAsked) {
  const Bytes jpeg = photo();
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.callers_thread = true;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const auto self = std::this_thread::get_id();
  std::thread::id where;
  engine->submit(jpeg, width(20),
                 [&](const Result<Resized>&) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, self) << "answered before submit() returned";
  const auto expected = Resizer().resize(jpeg, width(20));
  const auto made = engine->resize(jpeg, width(20));
  ASSERT_TRUE(made && expected);
  EXPECT_EQ(made->bytes, expected->bytes);
  std::vector<EngineRequest> many(500);
  std::size_t answered = 0;
  for (EngineRequest& request : many) {
    request = {jpeg, width(16), [&](const Result<Resized>& r) { answered += r ? 1 : 0; }};
  }
  EXPECT_EQ(engine->try_submit(many), many.size());
  EXPECT_EQ(answered, many.size());
  EXPECT_EQ(engine->stats().host_images, 502u);
}

TEST(Engine, ForFewImagesAutoStartsNoGpuAndDecidesAsAResizer) {
  const Bytes jpeg = photo();
  EngineOptions options;
  options.few_images = true;
  options.callers_thread = true;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->devices().empty());
  EXPECT_FALSE(engine->no_device_reason().empty());
  for (const CodecKind codec : {CodecKind::kAuto, CodecKind::kTurbo, CodecKind::kReference}) {
    const auto made = engine->resize(jpeg, width(20, codec));
    const auto expected = Resizer().resize(jpeg, width(20, codec));
    ASSERT_TRUE(made && expected);
    EXPECT_EQ(made->bytes, expected->bytes);
    EXPECT_EQ(made->report.codec, expected->report.codec);
    EXPECT_EQ(made->report.codec_reason, expected->report.codec_reason);
  }
}

TEST(Engine, SlicesForInputsLieSideBySideAndOutliveIt) {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  InputSlice kept;
  {
    auto engine = Engine::make(options);
    ASSERT_TRUE(engine);
    const Bytes jpeg = photo();
    const auto first = engine->input_slice(jpeg.size());
    const auto second = engine->input_slice(100);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->bytes.size(), jpeg.size());
    EXPECT_EQ(first->bytes.data() + jpeg.size(), second->bytes.data());
    std::copy(jpeg.begin(), jpeg.end(), first->bytes.begin());
    EXPECT_EQ(engine->resize(first->bytes, width(20))->bytes,
              engine->resize(jpeg, width(20))->bytes);
    kept = *second;
  }
  kept.bytes.back() = 1;
}

/// One at a time, so that idle host threads help; then many, so that they do not.
TEST(Engine, ProgressiveFilesHaveTheSameBytesWhoeverHelps) {
  sample::Spec spec{900, 700, JCS_YCbCr, 2, 2, 95};
  spec.progressive = true;
  const Bytes jpeg = sample::make(spec, [](int c, double x, double y) {
    return 128 + 90 * std::sin(x * y / 7 + c) + 30 * std::cos(x * 1.7 - y);
  });
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 4;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  const Bytes expected = test::resize_or_die(jpeg, width(300)).bytes;
  for (int i = 0; i < 20; ++i) {
    const auto made = engine->resize(jpeg, width(300));
    ASSERT_TRUE(made);
    ASSERT_EQ(made->bytes, expected);
  }
  std::vector<std::future<Result<Resized>>> many;
  for (int i = 0; i < 24; ++i) many.push_back(engine->submit(jpeg, width(300)));
  for (auto& one : many) {
    const auto made = one.get();
    ASSERT_TRUE(made);
    ASSERT_EQ(made->bytes, expected);
  }
}

}  // namespace
}  // namespace framewire
