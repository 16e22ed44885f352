// How pictures of a split become groups, and what happens when memory runs out for one.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <split/picture_queue.hpp>
#include <thread>

namespace framewire::split {
namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;

std::unique_ptr<Picture> picture(std::uint64_t decoded_megabytes, std::uint64_t host_bytes = 1) {
  auto made = std::make_unique<Picture>();
  made->decoded_bytes = decoded_megabytes * kMegabyte;
  made->host_bytes = host_bytes;
  return made;
}

void add(PictureQueue& queue, std::size_t count, std::uint64_t decoded_megabytes) {
  for (std::size_t i = 0; i < count; ++i) {
    queue.admit(1);
    queue.push(picture(decoded_megabytes));
  }
}

TEST(PictureQueue, AGroupIsWhatWaitsWithinItsBounds) {
  PictureQueue queue({100, 8, 16});
  add(queue, 20, 1);
  add(queue, 1, 500);
  EXPECT_EQ(queue.next_group()->pictures.size(), 8u);
  EXPECT_EQ(queue.next_group()->pictures.size(), 8u);
  EXPECT_EQ(queue.next_group()->pictures.size(), 4u) << "the next is too large to join them";
  EXPECT_EQ(queue.next_group()->pictures.size(), 1u) << "and goes by itself";
  add(queue, 8, 10);
  EXPECT_EQ(queue.next_group()->pictures.size(), 4u) << "48 MB of samples";
}

TEST(PictureQueue, AGroupForWhichMemoryRanOutIsTriedInHalvesAndThenAlone) {
  PictureQueue queue({100, 8, 16});
  add(queue, 4, 1);
  for (const std::size_t size : {4u, 2u, 1u}) {
    const auto group = queue.next_group();
    ASSERT_EQ(group->pictures.size(), size);
    EXPECT_FALSE(is_alone(*group));
    group->pictures[0]->error = Status(StatusCode::kBusy, "memory ran out");
    group->parcels.resize(2);
    queue.again(*group);
  }
  const auto alone = queue.next_group();
  ASSERT_EQ(alone->pictures.size(), 1u);
  EXPECT_TRUE(is_alone(*alone));
  EXPECT_FALSE(alone->pictures[0]->error) << "of the tries before";
  EXPECT_TRUE(alone->parcels.empty());
  // Nothing begins beside it.
  std::atomic<bool> begun{false};
  std::thread other([&] {
    const auto group = queue.next_group();
    begun = true;
    EXPECT_EQ(group->pictures.size(), 1u) << "groups stay as small as fitted";
    queue.done(*group);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(begun);
  queue.done(*alone);
  other.join();
  EXPECT_TRUE(begun);
}

TEST(PictureQueue, WhatIsToBeAloneWaitsForTheOthers) {
  PictureQueue queue({100, 1, 16});
  add(queue, 2, 1);
  const auto first = queue.next_group();
  const auto second = queue.next_group();
  queue.again(*first);
  std::atomic<bool> begun{false};
  std::thread lane([&] {
    const auto group = queue.next_group();
    begun = true;
    EXPECT_TRUE(is_alone(*group));
    queue.done(*group);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(begun);
  queue.done(*second);
  lane.join();
  queue.drain();
}

TEST(PictureQueue, AdmitsNoMoreThanItsBoundsUntilPicturesAreAnswered) {
  constexpr std::uint64_t kLarge = 400 * kMegabyte;
  PictureQueue queue({2, 8, 16});
  queue.admit(kLarge);
  queue.push(picture(1, kLarge));
  std::atomic<int> admitted{0};
  std::thread submitter([&] {
    queue.admit(kLarge);  // more than 512 MB of files
    ++admitted;
    queue.push(picture(1, kLarge));
    queue.admit(1);
    ++admitted;
    queue.admit(1);  // a third picture
    ++admitted;
  });
  const auto settle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  settle();
  EXPECT_EQ(admitted, 0);
  queue.done(*queue.next_group());
  while (admitted < 2) std::this_thread::yield();
  settle();
  EXPECT_EQ(admitted, 2);
  queue.done(*queue.next_group());
  submitter.join();
  EXPECT_EQ(admitted, 3);
  for (int i = 0; i < 2; ++i) queue.answered(*picture(1));
  queue.drain();
}

TEST(PictureQueue, MemoryOfAGroupServesTheNextUnlessAWorkerIsLost) {
  PictureQueue queue({100, 1, 16});
  add(queue, 4, 1);
  auto group = queue.next_group();
  group->parcels.resize(3);
  queue.done(*group);
  group = queue.next_group();
  EXPECT_EQ(group->parcels.size(), 3u);
  group->parcels[1].lost = Status(StatusCode::kPeerLost, "gone");
  queue.done(*group);
  group = queue.next_group();
  EXPECT_TRUE(group->parcels.empty()) << "it may still be written";
  group->parcels.resize(3);
  queue.done(*group);
  queue.let_go();
  EXPECT_TRUE(queue.next_group()->parcels.empty());
}

TEST(PictureQueue, EndsWhenItIsEmpty) {
  PictureQueue queue({100, 1, 16});
  add(queue, 1, 1);
  queue.end();
  EXPECT_NE(queue.next_group(), nullptr);
  EXPECT_EQ(queue.next_group(), nullptr);
}

}  // namespace
}  // namespace framewire::split
