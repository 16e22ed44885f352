#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <array>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <chrono>
#include <type_traits>
#include <utility>

namespace framewire::base {
namespace {

static_assert(!std::is_copy_constructible_v<FileDescriptor>);
static_assert(!std::is_copy_assignable_v<FileDescriptor>);
static_assert(std::is_nothrow_move_constructible_v<FileDescriptor>);
static_assert(std::is_nothrow_move_assignable_v<FileDescriptor>);
static_assert(!std::is_convertible_v<int, FileDescriptor>);

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(FileDescriptor, IsClosedAtTheEnd) {
  const int fd = open_null();
  {
    const FileDescriptor owner(fd);
    EXPECT_TRUE(owner.valid());
    EXPECT_EQ(owner.get(), fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(FileDescriptor, IsNoneWhereNothingOrAFailedCallIsGiven) {
  EXPECT_FALSE(FileDescriptor().valid());
  EXPECT_EQ(FileDescriptor().get(), -1);
  EXPECT_FALSE(FileDescriptor(::open("/no such file", O_RDONLY | O_CLOEXEC)).valid());
}

TEST(FileDescriptor, IsClosedOnceAndByReset) {
  const int fd = open_null();
  FileDescriptor owner(fd);
  owner.reset();
  EXPECT_FALSE(owner.valid());
  EXPECT_FALSE(is_open(fd));
  const FileDescriptor next(open_null());
  ASSERT_EQ(next.get(), fd) << "the lowest number that is free";
  owner.reset();
  EXPECT_TRUE(is_open(fd)) << "which is somebody else's now";
}

TEST(FileDescriptor, MovesWithItsOwner) {
  FileDescriptor from(open_null());
  const int fd = from.get();
  FileDescriptor to(std::move(from));
  EXPECT_FALSE(from.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(to.get(), fd);

  FileDescriptor other(open_null());
  const int replaced = other.get();
  other = std::move(to);
  EXPECT_EQ(other.get(), fd);
  EXPECT_FALSE(to.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(fd));

  FileDescriptor& itself = other;
  other = std::move(itself);
  EXPECT_EQ(other.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(FileDescriptor, ReleasedStaysOpen) {
  int fd = -1;
  {
    FileDescriptor owner(open_null());
    fd = owner.release();
    EXPECT_FALSE(owner.valid());
  }
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

TEST(WaitFor, EndsWhenTheDescriptorCanBeUsedOrTheTimeIsUp) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  const auto now = [] { return Clock::now(); };
  EXPECT_TRUE(wait_for(writing.get(), true, now()));
  const auto deadline = now() + std::chrono::milliseconds(20);
  EXPECT_FALSE(wait_for(reading.get(), false, deadline));
  EXPECT_GE(now(), deadline);
  ASSERT_EQ(::write(writing.get(), "x", 1), 1);
  EXPECT_TRUE(wait_for(reading.get(), false, now() + std::chrono::hours(1)));
}

}  // namespace
}  // namespace framewire::base
