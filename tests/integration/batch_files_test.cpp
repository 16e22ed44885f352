// Whole files or none, whatever goes wrong while they are written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <batch/atomic_file.hpp>
#include <batch/input_file.hpp>
#include <batch/temporary_file.hpp>
#include <csignal>
#include <tests/integration/support.hpp>
#include <thread>
#include <vector>

namespace framewire::batch {
namespace {

using test::Bytes;
using test::TemporaryFolder;
namespace fs = std::filesystem;

std::size_t files_below(const fs::path& folder) { return test::read_tree(folder).size(); }

TEST(AtomicFile, WritesReplacesAndMakesFolders) {
  const TemporaryFolder folder;
  for (const Durability durability : {Durability::kNone, Durability::kFile}) {
    for (const Bytes& bytes : {Bytes{1, 2, 3}, Bytes{}, Bytes(100'000, 7)}) {
      ASSERT_TRUE(write_atomically(folder / "a/b/out.jpg", bytes, durability));
      EXPECT_EQ(test::read_file(folder / "a/b/out.jpg"), bytes);
    }
  }
  EXPECT_EQ(files_below(folder.path()), 1u) << "temporary files remain";
}

// A real short write: the kernel refuses bytes beyond RLIMIT_FSIZE, in a process of its own.
TEST(AtomicFile, FailedWriteLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.jpg";
  const Bytes old = {1, 2, 3};
  ASSERT_TRUE(write_atomically(path, old, Durability::kNone));
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = write_atomically(path, Bytes(50'000, 1), Durability::kNone);
    const bool right = !written && written.error().status.code() == StatusCode::kIoError;
    ::_exit(right ? 0 : 1);
  }
  EXPECT_EQ(test::wait_for(child).exit_code, 0);
  EXPECT_EQ(test::read_file(path), old);
  EXPECT_EQ(files_below(folder.path()), 1u);
}

TEST(AtomicFile, ObstaclesAreErrorsOfTheOneFile) {
  const TemporaryFolder folder;
  test::write_text(folder / "file", "x");
  fs::create_directories(folder / "folder/inner");
  const std::vector<std::string> paths = {folder / "file/out.jpg", folder / "folder",
                                          folder / std::string(300, 'n')};
  for (const std::string& path : paths) {
    const auto written = write_atomically(path, Bytes{1}, Durability::kNone);
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().status.code(), StatusCode::kIoError);
    EXPECT_EQ(written.error().status.subject(), path);
    EXPECT_FALSE(written.error().environment) << path;
  }
  EXPECT_EQ(files_below(folder.path()), 1u);
}

TEST(AtomicFile, ManyWritersOfOneNameLeaveOneWholeFile) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        EXPECT_TRUE(write_atomically(folder / "out", Bytes(5000, static_cast<std::uint8_t>(i)),
                                     Durability::kNone));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Bytes bytes = test::read_file(folder / "out");
  ASSERT_EQ(bytes.size(), 5000u);
  EXPECT_EQ(bytes, Bytes(5000, bytes[0]));
  EXPECT_EQ(files_below(folder.path()), 1u);
}

TEST(AtomicFile, CleansWhatTheDeadLeftAndSparesTheLiving) {
  const TemporaryFolder folder;
  test::write_text(folder / "sub/.framewire-999999-0.tmp", "half");
  test::write_text(folder / ".framewire-999999-1.tmp", "half");
  test::write_text(folder / "photo.jpg", "whole");
  const std::string alive = folder / ".framewire-1-0.tmp";
  const base::FileDescriptor lock(::open(alive.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const auto removed = remove_stale_temporaries(folder.path());
  ASSERT_TRUE(removed);
  EXPECT_EQ(*removed, 2u);
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(folder / "photo.jpg"));
  EXPECT_TRUE(remove_stale_temporaries(folder / "missing")) << "nothing to clean is no error";
}

// Locks of another host may not be seen.
TEST(AtomicFile, CleansWhatOtherHostsLeftAnHourAgo) {
  const TemporaryFolder folder;
  const std::string fresh = folder / ".framewire-ffffffff-7-1a-0.tmp";
  const std::string old = folder / ".framewire-ffffffff-7-1a-1.tmp";
  test::write_text(fresh, "half");
  test::write_text(old, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  const auto removed = remove_stale_temporaries(folder.path());
  ASSERT_TRUE(removed);
  EXPECT_EQ(*removed, 1u);
  EXPECT_TRUE(fs::exists(fresh));
}

/// Between a file's making and its locking, too.
TEST(AtomicFile, CleaningSparesWhatIsBeingMade) {
  const TemporaryFolder folder;
  const base::FileDescriptor at(::open(folder.path().c_str(), O_DIRECTORY | O_RDONLY));
  std::atomic<bool> ended{false};
  std::vector<std::thread> cleaners;
  for (int i = 0; i < 3; ++i) {
    cleaners.emplace_back([&] {
      while (!ended) (void)remove_stale_temporaries(folder.path());
    });
  }
  int lost = 0;
  for (int i = 0; i < 3000; ++i) {
    const TemporaryFile file = TemporaryFile::make(at.get());
    if (!file.valid() || files_below(folder.path()) != 1) ++lost;
  }
  ended = true;
  for (std::thread& cleaner : cleaners) cleaner.join();
  EXPECT_EQ(lost, 0);
}

// As a handler of signals does it, while threads go on making files: in a process of its own, which
// ends at once.
TEST(AtomicFile, AProcessThatEndsLeavesNothingThatOthersWereMaking) {
  const TemporaryFolder folder;
  for (int round = 0; round < 100; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int at = ::open(folder.path().c_str(), O_DIRECTORY | O_RDONLY);
      for (int i = 0; i < 8; ++i) {
        std::thread([at] {
          while (true) (void)TemporaryFile::make(at);
        }).detach();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500 + 37 * round));
      remove_live_temporaries();
      ::_exit(0);
    }
    EXPECT_EQ(test::wait_for(child).exit_code, 0);
    ASSERT_EQ(files_below(folder.path()), 0u) << "round " << round;
  }
}

TEST(InputFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", folder.path().string()}) {
    const auto file = InputFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code(), StatusCode::kInvalidInput);
  }
  const auto missing = InputFile::open(folder / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), StatusCode::kIoError);
}

TEST(InputFile, ReadsUpToTheLimitAndNoFurther) {
  const TemporaryFolder folder;
  test::write_file(folder / "a", Bytes(5000, 9));
  const auto file = InputFile::open(folder / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes(), 5000u);
  const auto whole = file->read(5000);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, Bytes(5000, 9));
  const auto refused = file->read(4999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
}

// A sparse file of a terabyte must cost nothing.
TEST(InputFile, LargeFilesAreRefusedBeforeAnythingIsAllocated) {
  const TemporaryFolder folder;
  test::write_text(folder / "huge", "x");
  std::error_code error;
  fs::resize_file(folder / "huge", std::uintmax_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  const auto file = InputFile::open(folder / "huge");
  ASSERT_TRUE(file);
  const auto refused = file->read(64 << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
}

TEST(InputFile, StreamsAreBoundedToo) {
  const base::FileDescriptor zeros(::open("/dev/zero", O_RDONLY));
  ASSERT_TRUE(zeros.valid());
  const auto refused = read_stream(zeros.get(), "standard input", 1 << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kTooLarge);
  EXPECT_EQ(refused.error().subject(), "standard input");
}

TEST(InputFile, ErrorsOfAMarkerNameTheFileToo) {
  const Status named =
      about_file(Status(StatusCode::kTooLarge, "too wide").about("SOF").at(12), "photo.jpg");
  EXPECT_EQ(named.to_string(), "too_large: photo.jpg: SOF: too wide (at byte 12)");
  EXPECT_EQ(about_file(Status(StatusCode::kBusy, "full"), "a").to_string(), "busy: a: full");
}

}  // namespace
}  // namespace framewire::batch
