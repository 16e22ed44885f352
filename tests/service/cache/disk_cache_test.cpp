// The cache on disk: what is kept is found, within its bounds, also after a restart.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <atomic>
#include <service/cache/index.hpp>
#include <tests/service/cache/disk_cache_fixture.hpp>

namespace framewire::service::cache::test {
namespace {

TEST(DiskCache, FindsWhatItKept) {
  TestCache cache;
  EXPECT_EQ(cache.find("a"), "(none)");
  ASSERT_TRUE(cache.kept("a", "the body of a"));
  const auto found = cache->find(key_of("a"));
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(found->head), "head");
  EXPECT_EQ(text_of(found->body), "the body of a");
  EXPECT_EQ(cache.find("b"), "(none)");
  ASSERT_TRUE(cache.kept("empty", ""));
  EXPECT_EQ(cache.find("empty"), "");
  ASSERT_TRUE(cache.kept("a", "another body"));
  EXPECT_EQ(cache.find("a"), "another body");
  EXPECT_EQ(text_of(found->body), "the body of a") << "what was found stays";
  EXPECT_EQ(cache->stats().entries, 2u);
  EXPECT_EQ(cache.files(), 2u) << "nothing else is left in the folder";
}

TEST(DiskCache, FolderAndFilesAreTheUsersAlone) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body"));
  struct stat status {};
  ASSERT_EQ(::stat(cache.settings().folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(cache.file_of("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(DiskCache, SurvivesARestart) {
  TestCache cache;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cache.kept(std::to_string(i), "body " + std::to_string(i)));
  }
  const Stats before = cache->stats();
  cache.start();
  EXPECT_EQ(cache.find("7"), "body 7") << "found before the folder has been gone through";
  EXPECT_TRUE(eventually([&] { return cache->stats().entries == 20; }));
  EXPECT_EQ(cache->stats().bytes, before.bytes);
}

TEST(DiskCache, BytesAreBounded) {
  CacheSettings settings;
  settings.max_bytes = 1u << 20;
  TestCache cache(settings);
  const std::string body(20'000, 'x');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(cache.kept(std::to_string(i), body));
    ASSERT_LE(cache->stats().bytes, settings.max_bytes);
  }
  EXPECT_EQ(cache.find("199"), body);
  const Stats stats = cache->stats();
  EXPECT_GT(stats.evicted, 100u);
  EXPECT_EQ(stats.entries + stats.evicted, 200u);
  EXPECT_EQ(cache.files(), stats.entries) << "what went is gone from the disk";
  EXPECT_GT(stats.entries, 40u) << "the bound is used";
}

TEST(DiskCache, EntriesAreBounded) {
  CacheSettings settings;
  settings.max_entries = 10;
  TestCache cache(settings);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(cache.kept(std::to_string(i), "body"));
    ASSERT_LE(cache->stats().entries, 10u);
  }
  EXPECT_EQ(cache.files(), 10u);
}

TEST(DiskCache, BoundsHoldAfterARestartWithSmallerOnes) {
  TestCache cache;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(cache.kept(std::to_string(i), "body"));
  cache.stop();
  cache.settings().max_entries = 15;
  cache.start();
  EXPECT_TRUE(eventually([&] { return cache.files() == 15; }));
  EXPECT_EQ(cache->stats().entries, 15u);
}

TEST(DiskCache, WhatIsUsedStaysLonger) {
  CacheSettings settings;
  settings.max_entries = 12;  // few enough for the very oldest to go
  TestCache cache(settings);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(cache.kept(std::to_string(i), "body"));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(cache.find("0"), "body") << i;
    ASSERT_TRUE(cache.kept("new " + std::to_string(i), "body"));
  }
  EXPECT_EQ(cache.find("0"), "body");
  EXPECT_EQ(cache.find("1"), "(none)");
}

TEST(DiskCache, RecentUseOutlivesARestart) {
  CacheSettings settings;
  settings.max_entries = 12;
  TestCache cache(settings);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(cache.kept(std::to_string(i), "body"));
  // As if all had been written long ago.
  for (int i = 0; i < 12; ++i) {
    const timespec times[2] = {{1'000'000 + i, 0}, {1'000'000 + i, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, cache.file_of(std::to_string(i)).c_str(), times, 0), 0);
  }
  cache.start();
  ASSERT_TRUE(eventually([&] { return cache->stats().entries == 12; }));
  EXPECT_EQ(cache.find("0"), "body");
  cache.start();
  ASSERT_TRUE(eventually([&] { return cache->stats().entries == 12; }));
  ASSERT_TRUE(cache.kept("new", "body"));
  EXPECT_EQ(cache.find("0"), "body");
  EXPECT_EQ(cache.find("1"), "(none)");
}

TEST(DiskCache, OldEntriesAreNotFound) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body"));
  cache.stop();
  cache.settings().max_age_s = -1;  // as if it had been kept before that
  cache.start();
  EXPECT_EQ(cache.find("a"), "(none)");
}

TEST(DiskCache, TooMuchToWriteIsDropped) {
  std::atomic<bool> open = false;
  CacheSettings settings;
  settings.max_waiting_bytes = 1000;
  settings.write = [&open](int fd, std::span<const std::uint8_t> bytes) {
    EXPECT_TRUE(eventually([&] { return open.load(); }));
    return write_bytes(fd, bytes);
  };
  TestCache cache(settings);
  for (int i = 0; i < 100; ++i) cache.keep(std::to_string(i), std::string(96, 'x'));
  EXPECT_EQ(cache->stats().dropped, 90u) << "100 bytes each, with their heads";
  open = true;
  EXPECT_TRUE(eventually([&] { return cache->stats().written == 10; }));
  ASSERT_TRUE(cache.kept("later", "body")) << "there is room again";
}

TEST(DiskCache, TooLargeEntriesAreDropped) {
  CacheSettings settings;
  settings.max_bytes = 800'000;
  TestCache cache(settings);
  cache.keep("large", std::string(100'000, 'x'));
  EXPECT_EQ(cache->stats().dropped, 1u);
  ASSERT_TRUE(cache.kept("small", std::string(90'000, 'x')));
  cache.keep("head", "body", std::string(EntryHeader::kMaxHeadBytes + 1, 'h'));
  EXPECT_EQ(cache->stats().dropped, 2u);
}

TEST(DiskCache, MemoryOfWhatIsFoundIsBounded) {
  CacheSettings settings;
  settings.max_read_bytes = 3000;
  TestCache cache(settings);
  ASSERT_TRUE(cache.kept("a", std::string(2000, 'x')));
  auto first = cache->find(key_of("a"));
  ASSERT_TRUE(first);
  EXPECT_FALSE(cache->find(key_of("a"))) << "the first still has its memory";
  first.reset();
  EXPECT_TRUE(cache->find(key_of("a")));
}

TEST(DiskCache, TasksAreBounded) {
  CacheSettings settings;
  settings.max_waiting_reads = 3;
  settings.read_threads = 1;
  TestCache cache(settings);
  std::atomic<bool> open = false;
  std::atomic<int> begun = 0;
  const auto task = [&] {
    ++begun;
    EXPECT_TRUE(eventually([&] { return open.load(); }));
  };
  ASSERT_TRUE(cache->run(task));
  ASSERT_TRUE(eventually([&] { return begun == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cache->run(task));
  EXPECT_FALSE(cache->run(task));
  open = true;
  EXPECT_TRUE(eventually([&] { return begun == 4; }));
}

TEST(CacheIndex, CountsWhatItHas) {
  Index index;
  EntryName a{};
  EntryName b{};
  b[0] = 1;
  index.put(a, 100, 1);
  index.put(b, 50, 2);
  index.put(a, 70, 1);
  EXPECT_EQ(index.bytes(), 120u);
  EXPECT_EQ(index.victim(), a);
  EXPECT_TRUE(index.touch(a, 3));
  EXPECT_EQ(index.victim(), b);
  index.begin_round();
  index.put(b, 50, 0);
  index.forget_unseen();
  EXPECT_EQ(index.entries(), 1u);
  EXPECT_FALSE(index.touch(a, 4));
  index.remove(b);
  index.remove(b);
  EXPECT_EQ(index.bytes(), 0u);
  EXPECT_FALSE(index.victim());
}

TEST(CacheKey, LengthsAndOrderCount) {
  const auto key = [](std::initializer_list<std::string_view> texts) {
    return make_key({texts.begin(), texts.size()}).value();
  };
  EXPECT_NE(key({"ab", "c"}), key({"a", "bc"}));
  EXPECT_NE(key({"a", "b"}), key({"b", "a"}));
  EXPECT_NE(key({"a", ""}), key({"a"}));
  EXPECT_EQ(key({"a", "b"}), key({"a", "b"}));
  // SHA-256 of "3:abc", by sha256sum.
  EXPECT_EQ(to_text(name_of(key({"abc"}))), "aab5f9ae99b2e38fb462025c8f72f570");
  const EntryName name = name_of(key({"x"}));
  EXPECT_EQ(parse_name(to_text(name)), name);
  EXPECT_FALSE(parse_name("ABCDEFABCDEFABCDEFABCDEFABCDEFAB"));
  EXPECT_FALSE(parse_name("0123"));
}

}  // namespace
}  // namespace framewire::service::cache::test
