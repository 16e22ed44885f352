// The public Engine where no GPU is used.
#include <gtest/gtest.h>
#include <algorithm>
#include <framewire/engine.hpp>
#include <tests/unit/engine/resized.hpp>

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

}  // namespace
}  // namespace framewire
