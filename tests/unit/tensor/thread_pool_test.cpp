#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <optional>
#include <tensor/thread_pool.hpp>
#include <vector>

namespace framewire::tensor {
namespace {

TEST(ThreadPool, EachItemIsTakenOnce) {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    ThreadPool pool(threads);
    for (std::size_t items = 0; items < 200; ++items) {
      std::vector<std::atomic<int>> taken(items);
      ASSERT_TRUE(pool.run(items, [&](std::size_t thread, std::size_t item) {
        EXPECT_LT(thread, threads);
        ++taken[item];
      }));
      for (std::size_t i = 0; i < items; ++i) ASSERT_EQ(taken[i], 1) << i << " of " << items;
    }
  }
}

/// A run's task and what it refers to are gone when the next one begins.
TEST(ThreadPool, ARunEndsWithItsLastItem) {
  ThreadPool pool(4);
  for (int run = 0; run < 2000; ++run) {
    std::optional<std::array<std::atomic<int>, 5>> counts(std::in_place);
    ASSERT_TRUE(pool.run(5, [&](std::size_t, std::size_t item) { ++(*counts)[item]; }));
    for (const auto& count : *counts) ASSERT_EQ(count, 1);
    counts.reset();
  }
}

TEST(ThreadPool, ItemsAreTakenInTheirOrder) {
  ThreadPool pool(3);
  std::atomic<std::size_t> begun{0};
  std::atomic<bool> early{false};
  ASSERT_TRUE(pool.run(1000, [&](std::size_t, std::size_t item) {
    // Of three threads two may be about to count an item that is before this one.
    if (begun.fetch_add(1) + 2 < item) early = true;
  }));
  EXPECT_FALSE(early);
}

TEST(ThreadPool, AllThreadsTakeItems) {
  constexpr int kThreads = 4;
  ThreadPool pool(kThreads);
  std::atomic<int> inside{0};
  ASSERT_TRUE(pool.run(kThreads, [&](std::size_t, std::size_t) {
    // Nobody leaves before all have come.
    ++inside;
    inside.notify_all();
    for (int seen = inside; seen != kThreads; seen = inside) inside.wait(seen);
  }));
  EXPECT_EQ(inside, kThreads);
}

TEST(ThreadPool, ThreadsEndWithoutARun) {
  const ThreadPool never(4);
  ThreadPool once(4);
  ASSERT_TRUE(once.run(2, [](std::size_t, std::size_t) {}));
}

}  // namespace
}  // namespace framewire::tensor
