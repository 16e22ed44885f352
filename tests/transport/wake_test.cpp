// A channel's thread that sleeps, and another that wakes it.
#include <gtest/gtest.h>
#include <base/wake_event.hpp>
#include <chrono>
#include <framewire/transport.hpp>
#include <future>
#include <string>

namespace framewire::transport {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLong_ms = 60'000;

/// Sleeps for a minute, unless the event that another thread notifies ends that.
void expect_to_be_woken(Channel& channel) {
  base::WakeEvent event;
  ASSERT_TRUE(event.valid());
  // What has been said at the beginning of a connection wakes, too.
  while (channel.progress()) {
  }
  const auto start = Clock::now();
  const auto notifying = std::async(std::launch::async, [&] { event.notify(); });
  channel.idle(kLong_ms, event.fd());
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(kLong_ms / 2));
}

TEST(TransportWake, ByAnEventOverLoopback) {
  auto ends = connect_loopback().value();
  expect_to_be_woken(ends.first);
}

TEST(TransportWake, ByAnEventOverASocket) {
  SessionOptions options;
  options.security.insecure = true;
  options.links = {kStreamLink};
  auto listener = Listener::listen("127.0.0.1:0", options).value();
  auto near = std::async(std::launch::async, [&] {
    return connect("127.0.0.1:" + std::to_string(listener.port()), options);
  });
  auto far = listener.accept(20'000);
  ASSERT_TRUE(far) << far.error().to_string();
  auto channel = near.get();
  ASSERT_TRUE(channel) << channel.error().to_string();
  expect_to_be_woken(*channel);
}

}  // namespace
}  // namespace framewire::transport
