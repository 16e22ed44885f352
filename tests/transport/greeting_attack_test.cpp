// Threads and memory that run out while clients are let in cost clients their time, never the
// listener.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <tests/transport/connections.hpp>
#include <transport/session/greetings.hpp>
#include <transport/session/listener.hpp>

namespace framewire::transport {
namespace {

using base::Clock;
using service::test::FailingMemory;
using service::test::FailingThreads;
using std::chrono::milliseconds;

class GreetingAttack : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = testing::opening_of("tls", true).options;
    client_ = testing::opening_of("tls", false).options;
    auto listening = session::Listener::listen("127.0.0.1:0", server);
    ASSERT_TRUE(listening) << listening.error().to_string();
    listener_.emplace(std::move(*listening));
    client_.timeout_ms = 5'000;
  }
  /// One client connects, and is accepted. @return whether both ends have a connection
  bool let_in() {
    const std::string address = fmt::format("127.0.0.1:{}", listener_->port());
    auto far = std::async(std::launch::async, [&] { return session::connect(address, client_); });
    bool accepted = false;
    while (!accepted) {
      accepted = listener_->accept(20).has_value();
      if (far.wait_for(milliseconds(0)) == std::future_status::ready) break;
    }
    if (!accepted) accepted = listener_->accept(20).has_value();
    return far.get().has_value() && accepted;
  }

  SessionOptions client_;
  std::optional<session::Listener> listener_;
};

TEST_F(GreetingAttack, AClientWaitsForAThread) {
  for (long n = 1; n <= 3; ++n) {
    const FailingThreads failing(1, service::test::Starter::kModule);
    EXPECT_TRUE(let_in());
    EXPECT_TRUE(failing.failed());
  }
}

// As many as there are places for, and one more, each refused a thread once: none keeps a place.
TEST_F(GreetingAttack, WhoGetsNoThreadKeepsNoPlace) {
  for (std::size_t i = 0; i <= session::Greetings::kMax; ++i) {
    const FailingThreads failing(1, service::test::Starter::kModule);
    ASSERT_TRUE(let_in()) << i;
  }
}

TEST_F(GreetingAttack, EveryAllocationOfAGreetingFails) {
  long n = 1;
  for (bool failed = true; failed && n < 2'000; ++n) {
    std::promise<void> over;
    std::promise<const FailingMemory*> counting;
    auto counted = counting.get_future();
    // Counts for the listener's threads, and not for that which calls it.
    std::jthread counter([&] {
      const FailingMemory memory(n);
      counting.set_value(&memory);
      over.get_future().wait();
    });
    const FailingMemory& memory = *counted.get();
    const bool came_in = let_in();
    failed = memory.failed();
    EXPECT_TRUE(came_in || failed) << n;
    over.set_value();
  }
  EXPECT_GT(n, 10);
  EXPECT_LT(n, 2'000);
  EXPECT_TRUE(let_in());
}

}  // namespace
}  // namespace framewire::transport
