// Blocks of an input store, with an allocator that counts.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <codec/batch_codec.hpp>
#include <engine/input_store.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

/// Memory of the test's own, counted.
struct Source {
  int allocated = 0;
  int freed = 0;
  std::size_t min_bytes = 0;  ///< of the last allocation
  bool empty = false;

  HostAllocator allocator() {
    return [this](std::size_t bytes) -> Result<HostMemory> {
      if (empty) return fail(StatusCode::kBusy, "no more");
      ++allocated;
      min_bytes = bytes;
      auto* memory = new std::uint8_t[bytes];
      return HostMemory(memory, [this](const std::uint8_t* m) {
        ++freed;
        delete[] m;
      });
    };
  }
};

std::span<const std::uint8_t> all_of(const InputStore::Block& block) {
  return {block.memory.get(), block.bytes};
}

TEST(InputStore, BlocksAreKeptForTheNext) {
  Source source;
  {
    InputStore store(source.allocator());
    auto first = store.take(kMegabyte);
    ASSERT_TRUE(first);
    EXPECT_GE(first->bytes, kMegabyte);
    EXPECT_GE(source.min_bytes, kMegabyte + codec::kPinnedGuardBytes);
    const std::uint8_t* where = first->memory.get();
    store.give_back(std::move(*first));
    EXPECT_EQ(source.freed, 0);
    auto again = store.take(kMegabyte - 100);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->memory.get(), where);
    auto other = store.take(kMegabyte);
    ASSERT_TRUE(other);
    EXPECT_NE(other->memory.get(), where) << "that one is in use";
    EXPECT_EQ(source.allocated, 2);
    store.give_back(std::move(*again));
    store.give_back(std::move(*other));
    EXPECT_TRUE(store.take(1000)) << "a large block is not spent on a small file";
    EXPECT_EQ(source.allocated, 3);
  }
  EXPECT_EQ(source.freed, 3);
}

TEST(InputStore, TheBlockThatCameBackLastGoesFirst) {
  Source source;
  InputStore store(source.allocator());
  auto early = store.take(kMegabyte);
  auto late = store.take(kMegabyte);
  const std::uint8_t* where = late->memory.get();
  store.give_back(std::move(*early));
  store.give_back(std::move(*late));
  EXPECT_EQ(store.take(kMegabyte)->memory.get(), where);
}

TEST(InputStore, KeepsNoMoreThanItSays) {
  Source source;
  InputStore store(source.allocator());
  std::vector<InputStore::Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(*store.take(240 * kMegabyte));
  EXPECT_GE(store.pinned_bytes(), 1440 * kMegabyte);
  for (InputStore::Block& block : blocks) store.give_back(std::move(block));
  blocks.clear();
  EXPECT_EQ(source.freed, 2);
  EXPECT_LE(store.pinned_bytes(), 1024 * kMegabyte);
}

TEST(InputStore, KeepsLessThatNobodyHasPinned) {
  InputStore store{HostAllocator()};
  std::vector<InputStore::Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(*store.take(60 * kMegabyte));
  for (InputStore::Block& block : blocks) store.give_back(std::move(block));
  EXPECT_EQ(store.use().bytes, 240 * kMegabyte);
}

TEST(InputStore, KnowsItsBytes) {
  Source source;
  InputStore store(source.allocator());
  const std::vector<std::uint8_t> outside(100);
  EXPECT_FALSE(store.find(outside).pinned);
  auto low = store.take(kMegabyte);
  auto high = store.take(kMegabyte);
  ASSERT_TRUE(low && high);
  for (const auto& block : {*low, *high}) {
    EXPECT_TRUE(store.find(all_of(block)).pinned);
    EXPECT_TRUE(store.find(all_of(block).subspan(17, 1000)).pinned);
    EXPECT_TRUE(store.find(all_of(block).last(1)).pinned);
    EXPECT_FALSE(store.find({block.memory.get() + block.bytes - 10, 11}).pinned)
        << "into the guard";
    EXPECT_FALSE(store.find({block.memory.get() - 1, 2}).pinned);
  }
  EXPECT_FALSE(store.find(outside).pinned);
}

TEST(InputStore, ForgetsWhatCouldNotBePinned) {
  bool throws = true;
  InputStore store(HostAllocator(), [&](std::span<std::uint8_t>) -> Result<std::shared_ptr<void>> {
    if (throws) throw std::bad_alloc();
    return fail(StatusCode::kUnsupported, "not of this kind");
  });
  std::vector<std::uint8_t> memory(100);
  EXPECT_EQ(store.enter_registered(memory).error().code(), StatusCode::kBusy);
  EXPECT_FALSE(store.find(memory).changes);
  throws = false;
  EXPECT_EQ(store.enter_registered(memory).error().code(), StatusCode::kUnsupported)
      << "it is not registered already";
  EXPECT_FALSE(store.find(memory).changes);
}

TEST(InputStore, OrdinaryMemoryIsNotForDevices) {
  InputStore store{HostAllocator()};
  auto block = store.take(1000);
  ASSERT_TRUE(block);
  EXPECT_GE(block->bytes, 1000u);
  EXPECT_FALSE(store.find(all_of(*block)).pinned);
  EXPECT_EQ(store.pinned_bytes(), 0u);
}

TEST(InputStore, SaysWhenThereIsNoMore) {
  Source source;
  source.empty = true;
  InputStore store(source.allocator());
  const auto none = store.take(1000);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), StatusCode::kBusy);
  InputStore ordinary({});
  for (const std::size_t bytes : {SIZE_MAX - 5, SIZE_MAX / 2, SIZE_MAX / 3}) {
    const auto huge = ordinary.take(bytes);
    ASSERT_FALSE(huge) << bytes;
    EXPECT_EQ(huge.error().code(), StatusCode::kTooLarge);
  }
}

TEST(InputStore, ManyThreadsNeverShareABlock) {
  Source source;
  std::mutex mutex;
  InputStore store([&](std::size_t bytes) {
    const std::lock_guard lock(mutex);
    return source.allocator()(bytes);
  });
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        auto block = store.take(kMegabyte / 8 * static_cast<std::size_t>(1 + i % 3));
        if (!block || !store.find(all_of(*block)).pinned) return void(++shared);
        std::fill_n(block->memory.get(), 5000, static_cast<std::uint8_t>(t));
        std::this_thread::yield();
        if (std::count(block->memory.get(), block->memory.get() + 5000, t) != 5000) ++shared;
        store.give_back(std::move(*block));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_LE(source.allocated, 12);
}

}  // namespace
}  // namespace framewire::engine
