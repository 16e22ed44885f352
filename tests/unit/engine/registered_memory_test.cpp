// Inputs in memory of the caller's that an engine knows of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <codec/batch_codec.hpp>
#include <optional>
#include <set>
#include <tests/unit/engine/fake_lanes.hpp>
#include <tests/unit/engine/metadata_parts.hpp>

namespace framewire::engine {
namespace {

using namespace fake;
using testing::HasSubstr;

EngineOptions on_the_cpu() {
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  return options;
}

/// Devices whose lanes copy from what is pinned; `pins` counts what is.
std::vector<DeviceLanes> devices_that_pin(Script& script, std::atomic<int>& pins) {
  auto devices = devices_of({&script}, 2);
  devices[0].pin_input = [&pins](std::span<std::uint8_t>) -> Result<std::shared_ptr<void>> {
    ++pins;
    return std::shared_ptr<void>(&pins, [&pins](void*) { --pins; });
  };
  return devices;
}

TEST(EngineRegisteredMemory, IsKnownOnceUntilItIsLetGo) {
  auto engine = Engine::make(on_the_cpu());
  ASSERT_TRUE(engine);
  Bytes memory(1000);
  const std::span<std::uint8_t> all(memory);
  EXPECT_EQ(engine->register_memory({}).error().code(), StatusCode::kInvalidInput);
  auto handle = engine->register_memory(all.subspan(100, 500));
  ASSERT_TRUE(handle);
  EXPECT_EQ(handle->bytes().data(), memory.data() + 100);
  EXPECT_EQ(handle->bytes().size(), 500u);
  for (const auto& overlap :
       {all, all.subspan(0, 101), all.subspan(599, 1), all.subspan(200, 10)}) {
    const auto twice = engine->register_memory(overlap);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code(), StatusCode::kInvalidInput);
    EXPECT_EQ(twice.error().subject(), "memory");
  }
  EXPECT_TRUE(engine->register_memory(all.first(100)));
  EXPECT_TRUE(engine->register_memory(all.subspan(600)));
  RegisteredMemory moved = std::move(*handle);
  EXPECT_TRUE(handle->bytes().empty());
  EXPECT_FALSE(engine->register_memory(all));
  moved = {};
  EXPECT_TRUE(engine->register_memory(all));
  auto kept = engine->register_memory(all);
  ASSERT_TRUE(kept);
  engine = fail(StatusCode::kInternal, "over");
  kept = fail(StatusCode::kInternal, "after its engine");
}

TEST(EngineRegisteredMemory, TheEnginesOwnIsRefusedWithAndWithoutDevices) {
  Script script;
  std::atomic<int> pins{0};
  auto devices = devices_that_pin(script, pins);
  devices[0].allocate_input = [](std::size_t bytes) -> Result<HostMemory> {
    const auto memory = std::make_shared<Bytes>(bytes);
    return HostMemory(memory, memory->data());
  };
  for (const auto& engine : {make({}), make(std::move(devices))}) {
    InputStore& store = *engine->inputs();
    auto block = store.take(1000);
    ASSERT_TRUE(block);
    const std::span<std::uint8_t> own(block->memory.get(), 1000);
    for (const auto part : {own, own.first(1), own.last(1)}) {
      const auto refused = store.enter_registered(part);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
    }
    EXPECT_EQ(store.find(own).pinned, !engine->devices().empty());
    EXPECT_FALSE(store.find(own).changes);
    EXPECT_EQ(store.pinned_bytes() != 0, !engine->devices().empty());
    store.give_back(std::move(*block));
  }
}

/// Memory that an engine has freed may become the caller's.
TEST(EngineRegisteredMemory, WhatTheEngineHasFreedMayBeRegistered) {
  InputStore store{HostAllocator()};
  auto block = store.take(std::size_t{300} << 20);  // more than is kept
  ASSERT_TRUE(block);
  const std::span<std::uint8_t> memory(block->memory.get(), 1000);
  const HostMemory still_there = block->memory;
  EXPECT_FALSE(store.enter_registered(memory));
  store.give_back(std::move(*block));
  EXPECT_TRUE(store.enter_registered(memory));
  store.forget_registered(memory);
}

TEST(EngineRegisteredMemory, DevicesCopyFromItWhereTheyMay) {
  Script script;
  std::atomic<int> pins{0};
  const auto engine = make(devices_that_pin(script, pins));
  const Bytes& photo = photos()[0];
  const auto expected = one(*engine, photo, width(32));
  ASSERT_TRUE(expected);
  EXPECT_EQ(script.pinned, 0);
  Bytes memory(photo.size() + codec::kPinnedGuardBytes + 1);
  const std::uint64_t before = engine->stats().pinned_bytes;
  ASSERT_TRUE(engine->inputs()->enter_registered(memory));
  EXPECT_EQ(pins, 1);
  EXPECT_EQ(engine->stats().pinned_bytes, before + memory.size());
  // What follows a file within the guard is read along with it, and must be the region's.
  for (const auto& [offset, pinned] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
    std::copy(photo.begin(), photo.end(), memory.begin() + offset);
    const auto made = [&] {
      std::promise<Result<Resized>> answer;
      EngineRequest request{
          std::span(memory).subspan(static_cast<std::size_t>(offset), photo.size()), width(32),
          [&](Result<Resized> r) { answer.set_value(std::move(r)); }};
      engine->submit({&request, 1});
      return answer.get_future().get();
    }();
    ASSERT_TRUE(made);
    EXPECT_EQ(made->bytes, expected->bytes);
    EXPECT_EQ(made->report.codec, CodecKind::kCuda);
    EXPECT_EQ(script.pinned, pinned) << offset;
  }
  engine->inputs()->forget_registered(memory);
  EXPECT_EQ(pins, 0);
}

TEST(EngineRegisteredMemory, ThatCannotBePinnedIsNotKnown) {
  Script script;
  auto devices = devices_of({&script}, 1);
  devices[0].pin_input = [](std::span<std::uint8_t>) -> Result<std::shared_ptr<void>> {
    return fail(StatusCode::kUnsupported, "no such memory");
  };
  const auto engine = make(std::move(devices));
  Bytes memory(100);
  const auto refused = engine->inputs()->enter_registered(memory);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.error().subject(), "memory");
  EXPECT_FALSE(engine->inputs()->find(memory).changes);
}

TEST(EngineRegisteredMemory, HoldsInputsOfEveryKind) {
  Script script;
  std::atomic<int> pins{0};
  const auto with_lanes = make(devices_that_pin(script, pins));
  const auto without = make({});
  Bytes cut = photos()[1];
  cut.resize(cut.size() - 2);
  Bytes broken = photos()[1];
  broken.resize(40);
  ResizeOptions strict = width(24);
  strict.strict = true;
  ResizeOptions keep = width(24);
  keep.metadata = Metadata::kKeep;
  ResizeOptions small = width(24);
  small.limits.max_input_bytes = 50;
  const std::vector<std::pair<Bytes, ResizeOptions>> cases = {
      {photos()[0], width(24)},
      {progressive_photo(), width(24)},
      {test::ultra_hdr(), width(48)},
      {test::with_exif(photos()[2], 6), keep},
      {cut, width(24)},
      {broken, width(24)},
      {photos()[3], strict},
      {sample::make({64, 48, JCS_YCbCr, 2, 2, 30}, smooth), {}},  // handed on
      {photos()[0], small}};
  for (const auto* engine : {&with_lanes, &without}) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto& [jpeg, options] = cases[i];
      Bytes memory = jpeg;
      memory.resize(jpeg.size() + codec::kPinnedGuardBytes);
      const auto expected = one(**engine, jpeg, options);
      ASSERT_TRUE((*engine)->inputs()->enter_registered(memory));
      std::promise<Result<Resized>> answer;
      EngineRequest request{std::span(memory).first(jpeg.size()), options,
                            [&](Result<Resized> r) { answer.set_value(std::move(r)); }};
      (*engine)->submit({&request, 1});
      const auto made = answer.get_future().get();
      (*engine)->inputs()->forget_registered(memory);
      ASSERT_EQ(made.has_value(), expected.has_value()) << i;
      if (!made) {
        EXPECT_EQ(made.error().to_string(), expected.error().to_string());
        continue;
      }
      EXPECT_EQ(made->bytes, expected->bytes) << i;
      EXPECT_EQ(made->report.codec, expected->report.codec) << i;
      EXPECT_EQ(made->report.original_kept, expected->report.original_kept);
      EXPECT_EQ(made->report.input.bytes, jpeg.size());
      EXPECT_EQ(test::kinds(made->report), test::kinds(expected->report)) << i;
    }
  }
}

}  // namespace
}  // namespace framewire::engine
