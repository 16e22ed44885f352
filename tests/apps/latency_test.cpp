// A frame's way, also where its sender says that it was sent when nothing can have been.
#include <gtest/gtest.h>
#include <commands/sink/latency.hpp>
#include <limits>

namespace framewire::app {
namespace {

constexpr std::int64_t kNow_ns = 1'700'000'000'000'000'000;

TEST(SinkLatency, IsTheDifferenceEitherWay) {
  EXPECT_FLOAT_EQ(latency_ms(kNow_ns - 2'500'000, kNow_ns), 2.5F);
  EXPECT_FLOAT_EQ(latency_ms(kNow_ns + 2'500'000, kNow_ns), -2.5F);
  EXPECT_EQ(latency_ms(kNow_ns, kNow_ns), 0.0F);
}

TEST(SinkLatencyAttack, MomentsThatNobodyLivedToSeeAreFarAway) {
  constexpr auto kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  EXPECT_NEAR(latency_ms(kFirst, kNow_ns), 1.0923e13F, 1e10F);
  EXPECT_NEAR(latency_ms(kLast, kNow_ns), -7.5234e12F, 1e10F);
  EXPECT_NEAR(latency_ms(kFirst, kLast), 1.84467e13F, 1e9F);
}

}  // namespace
}  // namespace framewire::app
