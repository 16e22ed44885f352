// Clients for whom there is no thread are told so, and so is the owner, who may ask the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <atomic>
#include <tests/service/local/raw_client.hpp>
#include <tests/service/support/failing_events.hpp>
#include <tests/service/support/failing_threads.hpp>

namespace framewire::service::local::test {
namespace {

using service::test::FailingEvents;
using service::test::FailingThreads;
using testing::HasSubstr;

TEST(LocalStartAttack, AClientWithoutAThreadIsToldWhy) {
  const SocketFolder folder;
  auto engine = Engine::make(host_engine());
  ASSERT_TRUE(engine);
  std::atomic<const LocalServer*> asked = nullptr;
  std::atomic<int> refused = 0;
  std::atomic<std::uint64_t> held = 1;
  LocalServerOptions options;
  options.path = folder.socket();
  options.on_event = [&](const LocalEvent& event) {
    if (event.kind != LocalEvent::Kind::kRefused) return;
    held = asked.load()->stats().total_bytes;
    ++refused;
  };
  auto started = LocalServer::start(*engine, std::move(options));
  ASSERT_TRUE(started) << started.error().to_string();
  asked = &*started;
  const FailingThreads failing(1, service::test::Starter::kModule);
  const auto client = Client::connect(folder.socket(), small_client());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kBusy);
  EXPECT_THAT(client.error().message(), HasSubstr("Resource temporarily unavailable"));
  EXPECT_TRUE(soon([&] { return refused == 1; }));
  EXPECT_EQ(held, 0u);
  EXPECT_TRUE(Client::connect(folder.socket(), small_client()));
}

TEST(LocalStartAttack, AClientThatGetsNoThreadOfItsOwnIsBusy) {
  const SocketFolder folder;
  auto engine = Engine::make(host_engine());
  ASSERT_TRUE(engine);
  LocalServerOptions options;
  options.path = folder.socket();
  auto server = LocalServer::start(*engine, std::move(options));
  ASSERT_TRUE(server) << server.error().to_string();
  // The server's thread for the client comes first.
  const FailingThreads failing(2);
  const auto client = Client::connect(folder.socket(), small_client());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kBusy);
  EXPECT_THAT(client.error().message(), HasSubstr("fw-client"));
}

using LocalEventAttack = LocalServerTest;

// A connection without an event could neither be woken nor ended: who asks for one is told so.
TEST_F(LocalEventAttack, AClientWithoutAnEventIsNotWelcome) {
  start();
  {
    const FailingEvents failing;
    EXPECT_THROW(RawClient(folder_.socket()), std::runtime_error);
  }
  ASSERT_TRUE(soon([&] { return !events().empty(); }));
  EXPECT_EQ(events()[0].kind, LocalEvent::Kind::kRefused);
  EXPECT_EQ(events()[0].status.code(), StatusCode::kBusy);
  EXPECT_THAT(events()[0].status.message(), HasSubstr("no descriptor"));
  EXPECT_TRUE(connect().resize(photo(), width(20)));
}

}  // namespace
}  // namespace framewire::service::local::test
