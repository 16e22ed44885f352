// Whatever lies in the folder, and whatever the disk does: nothing wrong is served, nothing stops.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <random>
#include <tests/service/cache/disk_cache_fixture.hpp>
#include <tests/service/support/failing_memory.hpp>

namespace framewire::service::cache::test {
namespace {

namespace fs = std::filesystem;

void overwrite(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(DiskCacheAttack, EveryFlippedBitIsNoticed) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  const std::string whole = read_file(cache.file_of("a"));
  ASSERT_EQ(whole.size(), EntryHeader::kBytes + 4 + 9);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    overwrite(cache.file_of("a"), changed);
    ASSERT_EQ(cache.find("a"), "(none)") << "bit " << bit;
    ASSERT_FALSE(fs::exists(cache.file_of("a"))) << "bit " << bit;
  }
  EXPECT_EQ(cache->stats().damaged, whole.size() * 8);
  overwrite(cache.file_of("a"), whole);
  EXPECT_EQ(cache.find("a"), "body of a");
}

TEST(DiskCacheAttack, AnEntryOfAnyTimeIsReadAndNotServed) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  const std::string whole = read_file(cache.file_of("a"));
  const auto bytes_of = [](std::string_view text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  const auto rest = bytes_of(whole).subspan(EntryHeader::kBytes);
  for (const std::int64_t stored_s : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    auto header = read_header(bytes_of(whole), whole.size());
    ASSERT_TRUE(header);
    header->stored_s = stored_s;
    header->checksum = checksum_of(*header, rest.first(4), rest.subspan(4));
    const HeaderBytes changed = write_header(*header);
    overwrite(cache.file_of("a"),
              std::string(changed.begin(), changed.end()) + whole.substr(EntryHeader::kBytes));
    EXPECT_EQ(cache.find("a"), "(none)") << stored_s;
    EXPECT_TRUE(fs::exists(cache.file_of("a"))) << "it is not damaged";
  }
  EXPECT_EQ(cache->stats().damaged, 0u);
  overwrite(cache.file_of("a"), whole);
  EXPECT_EQ(cache.find("a"), "body of a");
}

TEST(DiskCacheAttack, EveryTruncationIsNoticed) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  const std::string whole = read_file(cache.file_of("a"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    overwrite(cache.file_of("a"), whole.substr(0, length));
    ASSERT_EQ(cache.find("a"), "(none)") << length;
    ASSERT_FALSE(fs::exists(cache.file_of("a"))) << length;
  }
  overwrite(cache.file_of("a"), whole + "x");
  EXPECT_EQ(cache.find("a"), "(none)");
}

TEST(DiskCacheAttack, AnEntryUnderAnothersNameIsNotServed) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  ASSERT_TRUE(cache.kept("b", "body of b"));
  fs::copy_file(cache.file_of("a"), cache.file_of("b"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.find("b"), "(none)");
  EXPECT_EQ(cache.find("a"), "body of a");
  ASSERT_TRUE(cache.kept("b", "body of b"));
  EXPECT_EQ(cache.find("b"), "body of b");
}

TEST(DiskCacheAttack, LinksFifosAndHugeFilesAreNotServed) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  const std::string whole = read_file(cache.file_of("a"));
  const fs::path outside = fs::path(cache.settings().folder).parent_path() / "outside";
  const fs::path file = cache.file_of("a");
  const auto replace = [&](const std::function<void()>& by) {
    fs::remove(file);
    by();
    EXPECT_EQ(cache.find("a"), "(none)");
    EXPECT_FALSE(fs::is_symlink(file) || fs::exists(file));
  };
  overwrite(outside, whole);
  replace([&] { fs::create_symlink(outside, file); });
  EXPECT_EQ(read_file(outside), whole) << "the link went, not what it names";
  replace([&] { fs::create_hard_link(outside, file); });
  replace([&] { ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0); });
  replace([&] {
    overwrite(file, whole);
    ASSERT_EQ(::truncate(file.c_str(), off_t{1} << 40), 0);
  });
  fs::create_directory(file);
  EXPECT_EQ(cache.find("a"), "(none)");
  cache.keep("a", "body of a");
  ASSERT_TRUE(eventually([&] { return cache->stats().write_errors == 1; }));
  EXPECT_TRUE(cache.kept("other", "body")) << "a folder in one entry's place stops no other";
}

TEST(DiskCacheAttack, ALinkInASubfoldersPlaceLeadsNowhere) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  const fs::path part = cache.file_of("a").parent_path();
  const fs::path outside = fs::path(cache.settings().folder).parent_path() / "outside";
  fs::rename(part, outside);
  fs::create_directory_symlink(outside, part);
  EXPECT_EQ(cache.find("a"), "(none)");
  cache.keep("a", "another body");
  ASSERT_TRUE(eventually([&] { return cache->stats().write_errors == 1; }));
  cache.start();
  std::size_t count = 0;
  for (const auto& found : fs::directory_iterator(outside)) count += found.exists() ? 1 : 0;
  EXPECT_EQ(count, 1u) << "nothing was written or removed there";
}

TEST(DiskCacheAttack, ForeignFilesAreLeftAndStrangeOnesGo) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body"));
  const fs::path part = cache.file_of("a").parent_path();
  const std::string first = part.filename().string();
  overwrite(part / "README", "not ours");
  overwrite(part / "tmp-new", "being written by another process");
  overwrite(part / "tmp-old", "left by a process that was killed");
  const timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (part / "tmp-old").c_str(), old, 0), 0);
  const std::string rest(30, '0');
  ASSERT_EQ(::mkfifo((part / (first + rest)).c_str(), 0600), 0);
  fs::create_directory(fs::path(cache.settings().folder) / "notes");
  cache.start();
  EXPECT_TRUE(
      eventually([&] { return cache->stats().entries == 1 && !fs::exists(part / "tmp-old"); }));
  EXPECT_TRUE(eventually([&] { return !fs::exists(part / (first + rest)); }));
  EXPECT_TRUE(fs::exists(part / "README"));
  EXPECT_TRUE(fs::exists(part / "tmp-new"));
  EXPECT_TRUE(fs::exists(fs::path(cache.settings().folder) / "notes"));
}

TEST(DiskCacheAttack, FoldersThatOthersWriteToAreRefused) {
  const service::test::TemporaryFolder folder;
  CacheSettings settings;
  settings.folder = (folder.path() / "open").string();
  fs::create_directory(settings.folder);
  ASSERT_EQ(::chmod(settings.folder.c_str(), 0777), 0);
  const auto opened = DiskCache::open(settings, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), StatusCode::kDenied);
  settings.folder = (folder.path() / "no/parent").string();
  EXPECT_EQ(DiskCache::open(settings, {}).error().code(), StatusCode::kIoError);
  settings.folder = folder.write("file", "").string();
  EXPECT_EQ(DiskCache::open(settings, {}).error().code(), StatusCode::kIoError);
}

TEST(DiskCacheAttack, AFullDiskCostsOnlyTheCache) {
  std::atomic<int> error = 0;
  std::atomic<std::uint64_t> full = 0;
  CacheSettings settings;
  settings.pause_ms = 1;
  settings.write = [&](int fd, std::span<const std::uint8_t> bytes) {
    if (error == 0) return write_bytes(fd, bytes);
    if (error == ENOSPC || error == EDQUOT) ++full;
    (void)write_bytes(fd, bytes.first(bytes.size() / 2));
    return error.load();
  };
  TestCache cache(settings);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(cache.kept(std::to_string(i), "body"));
  std::uint64_t failed = 0;
  for (const int one : {ENOSPC, EDQUOT, EROFS, EIO}) {
    error = one;
    ASSERT_TRUE(eventually([&] {
      cache.keep("more", "body");
      return cache->stats().write_errors > failed;
    }));
    failed = cache->stats().write_errors;
    EXPECT_EQ(cache.find("more"), "(none)");
  }
  EXPECT_LT(cache->stats().entries, 16u) << "entries went, so that there is room";
  // How many writes were tried before the first one's error was seen, nobody knows.
  EXPECT_GE(cache->stats().entries + 2 * full, 16u) << "an eighth for each time, and no more";
  EXPECT_EQ(cache.lines().size(), 1u) << "said once a minute";
  // Writes that were asked for meanwhile may still fail, and make room.
  EXPECT_TRUE(eventually([&] { return cache.files() == cache->stats().entries; }))
      << "halves of files are left: " << cache.files() << " for " << cache->stats().entries;
  error = 0;
  EXPECT_TRUE(eventually([&] {
    cache.keep("more", "body");
    return cache.find("more") == "body";
  }));
}

TEST(DiskCacheAttack, NothingIsWrittenInThePauseAfterAnError) {
  std::atomic<int> writes = 0;
  CacheSettings settings;
  settings.pause_ms = 600'000;
  settings.write = [&writes](int, std::span<const std::uint8_t>) {
    ++writes;
    return ENOSPC;
  };
  TestCache cache(settings);
  cache.keep("a", "body");
  ASSERT_TRUE(eventually([&] { return cache->stats().write_errors == 1; }));
  for (int i = 0; i < 10; ++i) cache.keep("b", "body");
  EXPECT_EQ(cache->stats().dropped, 10u);
  EXPECT_EQ(writes, 1);
}

// A real limit: in a process of its own, whose signal would end it.
TEST(DiskCacheAttack, ALimitOfFileSizesIsAnErrorAndNoSignal) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    TestCache cache;
    cache.keep("large", std::string(100'000, 'x'));
    const bool failed = eventually([&] { return cache->stats().write_errors == 1; });
    const bool none = cache.find("large") == "(none)" && cache.files() == 0;
    cache.stop();
    ::_exit(failed && none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DiskCacheAttack, ARealFullDisk) {
  const service::test::TemporaryFolder folder;
  const std::string disk = (folder.path() / "disk").string();
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) {
    GTEST_SKIP() << "needs the right to mount";
  }
  CacheSettings settings;
  settings.folder = disk + "/cache";
  settings.pause_ms = 1;
  {
    TestCache cache(settings);
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < 50; ++i) cache.keep(std::to_string(i), std::string(20'000, 'x'));
      return cache->stats().write_errors > 3;
    }));
    EXPECT_GT(cache->stats().written, 3u);
    EXPECT_GT(cache->stats().evicted, 0u);
  }
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST(DiskCacheAttack, AFolderThatIsRemovedIsMadeAgain) {
  CacheSettings settings;
  settings.pause_ms = 1;
  TestCache cache(settings);
  ASSERT_TRUE(cache.kept("a", "body"));
  fs::remove_all(cache.settings().folder);
  EXPECT_EQ(cache.find("a"), "(none)");
  EXPECT_TRUE(eventually([&] {
    cache.keep("b", "body");
    return cache.find("b") == "body";
  }));
  EXPECT_TRUE(fs::exists(cache.file_of("b")));
}

TEST(DiskCacheAttack, AReadOnlyFolderOnlyKeepsNothing) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write anywhere";
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body"));
  for (const auto& part : fs::directory_iterator(cache.settings().folder)) {
    ASSERT_EQ(::chmod(part.path().c_str(), 0500), 0);
  }
  ASSERT_EQ(::chmod(cache.settings().folder.c_str(), 0500), 0);
  EXPECT_EQ(cache.find("a"), "body");
  cache.keep("a", "another");
  EXPECT_TRUE(eventually([&] { return cache->stats().write_errors == 1; }));
  EXPECT_EQ(cache.find("a"), "body");
  ASSERT_EQ(::chmod(cache.settings().folder.c_str(), 0700), 0);
  for (const auto& part : fs::directory_iterator(cache.settings().folder)) {
    ASSERT_EQ(::chmod(part.path().c_str(), 0700), 0);
  }
}

// Two caches, two processes' worth: what one finds is whole, whatever the other writes and evicts.
TEST(DiskCacheAttack, TwoOnOneFolderDoNotDestroyEachOther) {
  CacheSettings small;
  small.max_bytes = 1u << 20;
  TestCache first(small);
  CacheSettings same = small;
  same.folder = first.settings().folder;
  TestCache second(same);
  std::atomic<bool> ended = false;
  std::atomic<int> wrong = 0;
  const auto work = [&](TestCache& cache, unsigned seed) {
    std::mt19937 random(seed);
    while (!ended) {
      const std::string name = std::to_string(random() % 60);
      const std::string body(30'000 + std::stoul(name), name[0]);
      const std::string found = cache.find(name);
      if (found == "(none)") {
        cache.keep(name, body);
      } else if (found != body) {
        ++wrong;
      }
    }
  };
  std::thread left(work, std::ref(first), 1);
  std::thread right(work, std::ref(second), 2);
  EXPECT_TRUE(eventually([&] { return first->stats().written + second->stats().written > 400; }));
  ended = true;
  left.join();
  right.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(first->stats().damaged + second->stats().damaged, 0u);
  EXPECT_EQ(first->stats().write_errors + second->stats().write_errors, 0u);
  EXPECT_GT(first->stats().evicted + second->stats().evicted, 0u);
}

TEST(DiskCacheAttack, AProcessKilledInMidWriteLeavesNothingWrong) {
  TestCache cache;
  for (int round = 0; round < 10; ++round) {
    int ready[2] = {};
    ASSERT_EQ(::pipe(ready), 0);
    cache.stop();  // whose threads could hold a lock of the allocator's while the process is copied
    const ::pid_t child = ::fork();
    if (child == 0) {
      CacheSettings settings = cache.settings();
      std::atomic<int> writes = 0;
      settings.write = [&](int fd, std::span<const std::uint8_t> bytes) {
        // Half of a body is there, and the kill comes.
        const int error = write_bytes(fd, bytes.first(bytes.size() / 2));
        if (bytes.size() > 10'000 && ++writes > round) {
          (void)!::write(ready[1], "x", 1);
          ::pause();
        }
        return error != 0 ? error : write_bytes(fd, bytes.subspan(bytes.size() / 2));
      };
      auto own = DiskCache::open(settings, {});
      for (int i = 0; i < 20; ++i) {
        auto body = std::make_shared<std::string>(20'000, static_cast<char>('a' + i));
        (*own)->keep({key_of(std::to_string(i)),
                      "head",
                      {reinterpret_cast<const std::uint8_t*>(body->data()), body->size()},
                      body});
      }
      ::pause();
      ::_exit(0);
    }
    ::close(ready[1]);
    ::pollfd written{ready[0], POLLIN, 0};
    EXPECT_EQ(::poll(&written, 1, 60'000), 1) << "no body was half written within a minute";
    ::close(ready[0]);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    cache.start();
    int found = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string body = cache.find(std::to_string(i));
      if (body == "(none)") continue;
      ++found;
      EXPECT_EQ(body, std::string(20'000, static_cast<char>('a' + i)));
    }
    EXPECT_GE(found, round);
    EXPECT_EQ(cache->stats().damaged, 0u) << "no half file had an entry's name";
  }
}

TEST(DiskCacheAttack, EveryAllocationFails) {
  TestCache cache;
  ASSERT_TRUE(cache.kept("a", "body of a"));
  ASSERT_TRUE(eventually([&] { return cache->stats().entries == 1; }));
  int failures = 0;
  for (long n = 1; n < 200; ++n) {
    const Key key = key_of("a");
    bool found = false;
    bool failed = false;
    {
      const service::test::FailingMemory memory(n);
      found = cache->find(key).has_value();
      failed = memory.failed();
    }
    if (!failed) {
      EXPECT_TRUE(found);
      EXPECT_GE(failures, 2);
      break;
    }
    ++failures;
    EXPECT_EQ(cache.find("a"), "body of a") << "after allocation " << n;
  }
  bool ended = false;
  for (long n = 1; n < 200 && !ended; ++n) {
    auto body = std::make_shared<std::string>("a new body");
    NewEntry entry{key_of("b" + std::to_string(n)),
                   "a head that is longer than a short string",
                   {reinterpret_cast<const std::uint8_t*>(body->data()), body->size()},
                   body};
    const auto done = [&](const Stats& stats) { return stats.written + stats.dropped; };
    const auto before = done(cache->stats());
    const service::test::FailingMemory memory(n);
    cache->keep(std::move(entry));
    (void)eventually([&] { return memory.failed() || done(cache->stats()) > before; });
    ended = !memory.failed();
  }
  EXPECT_TRUE(ended);
  ASSERT_TRUE(cache.kept("c", "body of c"));
  EXPECT_EQ(cache.find("c"), "body of c");
  EXPECT_EQ(cache.find("a"), "body of a");
}

}  // namespace
}  // namespace framewire::service::cache::test
