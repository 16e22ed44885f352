// Clients for whom there is no thread are told of, and the next one is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <tests/service/support/failing_events.hpp>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/failing_threads.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using service::test::FailingEvents;
using service::test::FailingMemory;
using service::test::FailingThreads;
using testing::HasSubstr;

class RemoteStartAttack : public RemoteServerTest {};

TEST_F(RemoteStartAttack, AClientWithoutAThreadIsToldOfAndCounted) {
  start();
  // The listener's thread for the greeting comes first, then the client's own.
  const FailingThreads failing(2, service::test::Starter::kModule);
  const auto refused = Client::connect(address(), session("keys", "ann"), small_client());
  EXPECT_FALSE(refused);
  const Status why = end_of(RemoteEvent::Kind::kRefused);
  EXPECT_EQ(why.code(), StatusCode::kBusy);
  EXPECT_THAT(why.message(), HasSubstr("fw-remote-peer"));
  EXPECT_EQ(counters_.refused_connections, 1u);
  EXPECT_EQ(server_->stats().clients, 0u);
  EXPECT_TRUE(connect().resize(photo(), width(20)));
}

TEST_F(RemoteStartAttack, AClientWithoutAnEventIsNotWelcome) {
  start();
  {
    const FailingEvents failing;
    PlayedEnd client(transport::connect(address(), session()).value());
    client.offer(PlayedEnd::hello());
    const auto why = client.last_word();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code(), StatusCode::kBusy);
    EXPECT_THAT(why->message(), HasSubstr("no descriptor"));
  }
  EXPECT_EQ(end_of(RemoteEvent::Kind::kRefused).code(), StatusCode::kBusy);
  EXPECT_TRUE(connect().resize(photo(), width(20)));
}

// Only so many are told why they are not served; the others are counted all the same. Channels
// that say nothing stay: the server waits for a moment for each to take its last word.
TEST_F(RemoteStartAttack, EveryRefusalIsToldOfAndCounted) {
  RemoteServerOptions options;
  options.max_clients = 1;
  options.client_share_percent = 100;
  start(options);
  const Client served = connect();
  constexpr std::size_t kMany = 24;
  std::vector<transport::Channel> silent;
  for (std::size_t i = 0; i < kMany; ++i) {
    auto channel = transport::connect(address(), session());
    ASSERT_TRUE(channel) << channel.error().to_string();
    silent.push_back(std::move(*channel));
  }
  EXPECT_TRUE(soon([&] { return count(RemoteEvent::Kind::kRefused) == kMany; }))
      << count(RemoteEvent::Kind::kRefused);
  EXPECT_EQ(counters_.refused_connections, kMany);
}

/// Memory that runs out while a client comes and leaves costs that client, however long its name.
TEST_F(RemoteStartAttack, EveryAllocationOfAClientsLifeFails) {
  write_keys("keys",
             "a-name-that-is-too-long-for-the-string-itself 00112233445566778899aabbccddeeff\n");
  start();
  bool failed = true;
  int unwelcome = 0;
  for (long n = 1; failed; ++n) {
    ASSERT_LT(n, 5'000) << "allocations without an end";
    auto channel = transport::connect(address(), session());
    ASSERT_TRUE(channel) << channel.error().to_string();
    PlayedEnd client(std::move(*channel));
    // Made by another thread, so that this one's allocations do not count.
    std::optional<FailingMemory> memory;
    std::thread([&] { memory.emplace(n); }).join();
    unwelcome += client.greet() ? 0 : 1;
    client.channel().close();
    ASSERT_TRUE(soon([&] { return server_->stats().clients == 0; })) << "allocation " << n;
    failed = memory->failed();
    memory.reset();
  }
  EXPECT_GT(unwelcome, 3);
  EXPECT_TRUE(connect().resize(photo(), width(20)));
}

}  // namespace
}  // namespace framewire::service::remote::test
