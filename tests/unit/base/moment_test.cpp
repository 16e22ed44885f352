#include <gtest/gtest.h>
#include <base/moment.hpp>
#include <chrono>

namespace framewire::base {
namespace {

using namespace std::chrono_literals;

TEST(Moment, NoWaitIsTooLong) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  const auto before = Clock::now();
  const auto soon = moment_after(1h);
  EXPECT_GE(soon, before + 1h);
  EXPECT_LE(soon, Clock::now() + 1h);
  EXPECT_EQ(moment_after(milliseconds::max()), Clock::time_point::max());
  EXPECT_EQ(moment_after(microseconds::max()), Clock::time_point::max());
  EXPECT_EQ(moment_after(std::chrono::nanoseconds::max()), Clock::time_point::max());
}

TEST(Moment, NoWaitEndsBeforeNow) {
  const auto before = Clock::now();
  EXPECT_GE(moment_after(0ms), before);
  EXPECT_GE(moment_after(std::chrono::milliseconds::min()), before);
}

}  // namespace
}  // namespace framewire::base
