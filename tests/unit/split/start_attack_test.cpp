// A split that gets too few threads is refused, and ends no process.
#include <gtest/gtest.h>
#include <split/splitter.hpp>
#include <tests/service/support/failing_threads.hpp>

namespace framewire::split {
namespace {

TEST(SplitAttack, EveryThreadIsRefused) {
  long n = 1;
  for (bool failed = true; failed && n < 100; ++n) {
    const service::test::FailingThreads failing(n);
    const auto made = Splitter::make(3, 2);
    failed = failing.failed();
    EXPECT_EQ(made.has_value(), !failed) << n;
    if (!made) {
      EXPECT_EQ(made.error().code(), StatusCode::kBusy) << n;
    }
  }
  // Three that resample, one that hands out and gathers, one that decodes and one that encodes;
  // with the next none is refused.
  EXPECT_EQ(n - 1, 6 + 1);
}

}  // namespace
}  // namespace framewire::split
