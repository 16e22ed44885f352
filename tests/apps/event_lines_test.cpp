// Lines of a service about its clients and workers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <commands/serve/clients.hpp>
#include <report/console.hpp>

namespace framewire::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(RefusalLinesTest, BoundsLinesAndTellsOfTheOthers) {
  RefusalLines lines;
  const auto begin = steady_clock::now();
  for (unsigned i = 0; i < RefusalLines::kMaxLines; ++i) EXPECT_EQ(lines.admit(begin), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lines.admit(begin + milliseconds(10)));
  EXPECT_EQ(lines.admit(begin + RefusalLines::kWindow), 5u);
  EXPECT_EQ(lines.admit(begin + RefusalLines::kWindow), 0u);
}

/// Exits with 0 where events do not wait for a reader of standard error that is stuck.
void log_to_nobody() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK) != 0) ::_exit(2);
  const std::array<char, 4096> filling{};
  while (::write(ends[1], filling.data(), filling.size()) > 0) {
  }
  ::dup2(ends[1], STDERR_FILENO);
  bound_wait_for_reader(milliseconds(500));
  const auto begin = steady_clock::now();
  for (int i = 0; i < 20; ++i) log_event(event_line("info", "local client connected"));
  ::_exit(steady_clock::now() - begin < std::chrono::seconds(2) ? 0 : 1);
}

TEST(EventLinesTest, WaitForNoReader) {
  EXPECT_EXIT(log_to_nobody(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace framewire::app
