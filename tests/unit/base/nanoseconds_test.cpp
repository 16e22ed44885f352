#include <gtest/gtest.h>
#include <base/nanoseconds.hpp>

namespace framewire::base {
namespace {

TEST(Nanoseconds, OfYearsThatFit) {
  EXPECT_EQ(to_nanoseconds(0), 0);
  EXPECT_EQ(to_nanoseconds(1'704'164'645, 7), 1'704'164'645'000'000'007);
  EXPECT_EQ(to_nanoseconds(-1, 999'999'999), -1);
  EXPECT_EQ(to_nanoseconds(timespec{2, 3}), 2'000'000'003);
}

TEST(Nanoseconds, OfOthersAreTheFirstOrTheLastWholeSecond) {
  constexpr std::int64_t kLast = 9'223'372'036'000'000'000;
  EXPECT_EQ(to_nanoseconds(9'223'372'035, 999'999'999), kLast - 1);
  for (const std::int64_t rest : {0, 999'999'999}) {
    EXPECT_EQ(to_nanoseconds(9'223'372'036, rest), kLast);
    EXPECT_EQ(to_nanoseconds(253'402'300'799, rest), kLast) << "9999-12-31T23:59:59Z";
    EXPECT_EQ(to_nanoseconds(INT64_MAX, rest), kLast);
    EXPECT_EQ(to_nanoseconds(-62'167'219'200, rest), -kLast) << "0000-01-01T00:00:00Z";
    EXPECT_EQ(to_nanoseconds(INT64_MIN, rest), -kLast);
  }
}

}  // namespace
}  // namespace framewire::base
