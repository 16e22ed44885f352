// A measurement with a peer that stops to take part in it.
#include <gtest/gtest.h>
#include <chrono>
#include <commands/perf/flow.hpp>
#include <stop_token>
#include <thread>

namespace framewire::app {
namespace {

class PerfFlowAttack : public ::testing::Test {
 protected:
  /// Both ends over a socket; the far one says nothing, and leaves after a while.
  void expect_end(PerfTest test) {
    transport::SessionOptions options;
    options.security.insecure = true;
    options.links = {transport::kStreamLink};
    auto listener = transport::Listener::listen("127.0.0.1:0", options).value();
    const std::jthread far([&](const std::stop_token& stop) {
      auto channel = listener.accept(20'000);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (channel && !stop.stop_requested() && std::chrono::steady_clock::now() < end) {
        if (!channel->progress()) channel->idle(10);
      }
    });
    auto near = transport::connect("127.0.0.1:" + std::to_string(listener.port()), options);
    ASSERT_TRUE(near) << near.error().to_string();
    auto memory = PerfMemory::make(4096).value();
    const auto times =
        run_row(*near, memory, osu_row(test, 64, 4), true, std::chrono::milliseconds(300));
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().code(), StatusCode::kDeadline) << times.error().to_string();
  }
};

TEST_F(PerfFlowAttack, APeerThatOffersNothingEndsALatencyRow) { expect_end(PerfTest::kLatency); }
TEST_F(PerfFlowAttack, APeerThatOffersNothingEndsABandwidthRow) {
  expect_end(PerfTest::kBandwidth);
}
TEST_F(PerfFlowAttack, APeerThatOffersNothingEndsARowBothWays) { expect_end(PerfTest::kBothWays); }

}  // namespace
}  // namespace framewire::app
