// Which profiles an engine keeps, and whose work is not done twice.
#include <gtest/gtest.h>
#include <atomic>
#include <cmath>
#include <engine/converter_cache.hpp>
#include <string>
#include <tests/support/sample_profiles.hpp>
#include <tests/support/simple_profiles.hpp>
#include <thread>
#include <vector>

namespace framewire::engine {
namespace {

using namespace color::testing_profiles;
using Conversion = ConverterCache::Conversion;

/// A profile of some 2 KB for each number.
Bytes profile(int number) {
  const double gamma = 1.2 + 0.01 * number;
  return matrix_profile(kP3Colorants,
                        sampled_curve(512, [=](double x) { return std::pow(x, gamma); }))
      .bytes();
}

Conversion find(ConverterCache& cache, const Bytes& icc) {
  auto found = cache.find(file_of(jpeg::ColorModel::kRgb, icc));
  EXPECT_TRUE(found);
  return found ? *found : nullptr;
}

std::size_t bytes_of_one() {
  ConverterCache cache;
  (void)find(cache, profile(0));
  return cache.held_bytes();
}

TEST(ConverterCache, FindsWhatItKeeps) {
  ConverterCache cache;
  const Conversion first = find(cache, profile(1));
  EXPECT_EQ(find(cache, profile(1)), first);
  EXPECT_NE(find(cache, profile(2)), first);
  const ProfileStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.kept, 2u);
  EXPECT_EQ(stats.prepared, 0u);
  EXPECT_EQ(stats.bytes, cache.held_bytes());
}

TEST(ConverterCache, DatesDoNotCountButChannelsDo) {
  ConverterCache cache;
  Bytes dated = profile(1);
  dated[26] ^= 1;
  EXPECT_EQ(find(cache, profile(1)), find(cache, dated));
  const auto gray = cache.find(file_of(jpeg::ColorModel::kGray, profile(1)));
  ASSERT_TRUE(gray);
  EXPECT_EQ((*gray)->use(), color::ProfileUse::kUnusable);
  EXPECT_EQ(find(cache, profile(1))->use(), color::ProfileUse::kConvertible);
}

TEST(ConverterCache, AHundredByTurnsAreMadeOnce) {
  ConverterCache cache(100 * bytes_of_one());
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) (void)find(cache, profile(i));
  }
  EXPECT_EQ(cache.stats().misses, 100u);
  EXPECT_EQ(cache.stats().hits, 400u);
}

TEST(ConverterCacheAttack, NewProfilesDisplaceNoneThatWasUsedTwice) {
  ConverterCache cache(16 * bytes_of_one());
  std::vector<Conversion> known;
  for (int i = 0; i < 8; ++i) {
    known.push_back(find(cache, profile(i)));
    (void)find(cache, profile(i));
  }
  for (int i = 0; i < 150; ++i) (void)find(cache, profile(100 + i));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(find(cache, profile(i)), known[std::size_t(i)]) << i;
  EXPECT_LE(cache.held_bytes(), 16 * bytes_of_one());
}

TEST(ConverterCacheAttack, WhoUsesEachTwiceStillDisplacesTheOldestAlone) {
  ConverterCache cache(16 * bytes_of_one());
  const Conversion popular = find(cache, profile(0));
  for (int i = 0; i < 150; ++i) {
    (void)find(cache, profile(100 + i));
    (void)find(cache, profile(100 + i));
    EXPECT_EQ(find(cache, profile(0)), popular) << i;
  }
  EXPECT_LE(cache.held_bytes(), 16 * bytes_of_one());
}

TEST(ConverterCache, WhatIsPreparedCounts) {
  ConverterCache cache;
  auto found = cache.find(file_of(jpeg::ColorModel::kRgb, wavy_rgb_profile()));
  ASSERT_TRUE(found);
  const std::size_t before = cache.held_bytes();
  EXPECT_FALSE((*found)->ready(color::Side::kDevice));
  ASSERT_TRUE(cache.prepare(*found, color::Side::kDevice));
  EXPECT_TRUE((*found)->ready(color::Side::kDevice));
  EXPECT_EQ(cache.held_bytes(), before + (*found)->table()->bytes.size());
  ASSERT_TRUE(cache.prepare(*found, color::Side::kDevice));
  EXPECT_EQ(cache.held_bytes(), before + (*found)->table()->bytes.size());
  EXPECT_EQ(cache.stats().prepared, 1u);
}

TEST(ConverterCache, WhatDoesNotFitIsUsedAndNotKept) {
  ConverterCache cache(4096);
  auto found = cache.find(file_of(jpeg::ColorModel::kRgb, wavy_rgb_profile()));
  ASSERT_TRUE(found);
  EXPECT_EQ(cache.held_bytes(), 0u);
  EXPECT_TRUE(cache.prepare(*found, color::Side::kDevice));
  EXPECT_NE((*found)->table(), nullptr);
  EXPECT_EQ(cache.stats().kept, 0u);
}

TEST(ConverterCache, ThreadsThatAskAtOnceShareOne) {
  ConverterCache cache;
  std::vector<Conversion> found(8);
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (auto& mine : found) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < 8) std::this_thread::yield();
      mine = find(cache, profile(3));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, found[0]);
  EXPECT_EQ(cache.stats().kept, 1u);
}

}  // namespace
}  // namespace framewire::engine
