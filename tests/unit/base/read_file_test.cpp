#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <base/read_file.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace framewire::base {
namespace {

/// A file without a name.
FileDescriptor file_with(std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  FileDescriptor made(::dup(::fileno(file.get())));
  EXPECT_EQ(::write(made.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(::lseek(made.get(), 0, SEEK_SET), 0);
  return made;
}

TEST(ReadFile, FewerBytesComeOnlyAtTheEnd) {
  const FileDescriptor file = file_with("0123456789");
  std::string four(4, '\0');
  EXPECT_EQ(read_full(file.get(), bytes_of(four)), 4U);
  EXPECT_EQ(four, "0123");
  EXPECT_EQ(read_full_at(file.get(), 8, bytes_of(four)), 2U);
  EXPECT_EQ(four.substr(0, 2), "89");
  EXPECT_EQ(read_full_at(file.get(), 10, bytes_of(four)), 0U);
  EXPECT_EQ(read_full_at(file.get(), 100, bytes_of(four)), 0U);
  EXPECT_EQ(read_full(file.get(), bytes_of(four)), 4U);
  EXPECT_EQ(four, "4567") << "read_full_at() leaves the descriptor where it is";
  EXPECT_EQ(read_full(file.get(), bytes_of(four)), 2U);
  EXPECT_EQ(read_some(file.get(), bytes_of(four)), 0U);
}

TEST(ReadFile, TextIsBoundedByWhatIsAskedFor) {
  for (const std::size_t bytes : {0, 1, 4'095, 4'096, 4'097, 8'192, 100'000}) {
    const std::string text(bytes, 'x');
    for (const std::size_t most : {std::size_t{0}, bytes, bytes + 1, bytes * 2 + 7, bytes / 2}) {
      const FileDescriptor file = file_with(text);
      const auto read = read_text(file.get(), most);
      ASSERT_TRUE(read) << bytes << " of at most " << most;
      EXPECT_EQ(read->size(), std::min(bytes, most));
    }
  }
}

TEST(ReadFile, ErrorsAreErrno) {
  std::string some(4, '\0');
  const FileDescriptor folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(read_some(folder.get(), bytes_of(some)).error(), EISDIR);
  EXPECT_EQ(read_full_at(folder.get(), 0, bytes_of(some)).error(), EISDIR);
  EXPECT_EQ(read_text(folder.get(), 10).error(), EISDIR);
  EXPECT_EQ(read_text(-1, 10).error(), EBADF);
}

void no_action(int) {}

TEST(ReadFile, SignalsAndShortReadsAreNoEnd) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &no_action;  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  FileDescriptor to(ends[1]);
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(reader, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(::write(to.get(), "ab", 2), 2);
    }
    to.reset();
  });
  const auto text = read_text(from.get(), 1'000);
  writer.join();
  ::sigaction(SIGUSR2, &before, nullptr);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 40U);
}

}  // namespace
}  // namespace framewire::base
