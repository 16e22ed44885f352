// Connections to servers on other hosts that are lost again and again, and not looked for any more.
#include <netinet/in.h>
#include <sys/socket.h>
#include <array>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <chrono>
#include <client/retries.hpp>
#include <cstdint>
#include <future>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <tests/support/free_port.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;

class RemoteRetry : public RemoteServerTest {
 protected:
  static ClientOptions retrying(std::uint32_t retries = 1) {
    ClientOptions options = small_client();
    options.retries = retries;
    return options;
  }
};

TEST_F(RemoteRetry, AnAnswerBeginsTheCountAgain) {
  const std::uint16_t port = framewire::test::free_port();
  start({}, port);
  Client client = connect(retrying());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.resize(photo(), width(20))) << i;
    server_.reset();
    start({}, port);
  }
  // The fourth server has answered nothing.
  ASSERT_TRUE(soon([&] { return count(RemoteEvent::Kind::kConnected) == 4; }));
  server_.reset();
  start({}, port);
  EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kPeerLost);
}

// A server that ends whenever it works on the first one, and does the others' work before.
TEST_F(RemoteRetry, ARequestThatEndsServersIsNotSentForEver) {
  constexpr int kRetries = 2;
  auto listener = transport::Listener::listen(":0", session()).value();
  std::atomic<int> sent{0};
  auto playing = std::async(std::launch::async, [&] {
    for (int i = 0; i <= kRetries + 1; ++i) {
      PlayedEnd server(listener.accept(20'000).value());
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome());
      auto request = server.next();
      if (request && request->head.number == 1) {
        ++sent;
        request = server.next();
      }
      ASSERT_TRUE(request);
      server.offer(PlayedEnd::refusal(*request));
      // The next one is submitted once this one has been answered; it is lost.
      (void)server.next();
    }
  });
  Client client =
      Client::connect(fmt::format(":{}", listener.port()), session(), retrying(kRetries)).value();
  std::promise<Status> killed;
  client.submit(photo(), width(20), [&](Result<Resized> made) {
    killed.set_value(made ? Status(StatusCode::kInternal, "made") : made.error());
  });
  auto killer = killed.get_future();
  for (int i = 0; i <= kRetries + 1; ++i) {
    EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kUnsupported) << i;
  }
  ASSERT_EQ(killer.wait_for(kPatience), std::future_status::ready);
  const Status why = killer.get();
  EXPECT_EQ(why.code(), StatusCode::kPeerLost);
  EXPECT_THAT(why.message(), HasSubstr("3 connections were lost"));
  EXPECT_EQ(sent, kRetries + 1);
  client.submit(photo(), width(20), {});
  playing.get();
  client::Retries::stop(client);
}

// What a server that is lost has not fetched did not end it.
TEST_F(RemoteRetry, WhatNoServerHasFetchedIsSentOn) {
  constexpr int kServers = 4;
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    for (int i = 0; i < kServers; ++i) {
      PlayedEnd server(listener.accept(20'000).value());
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome());
      if (i < kServers - 1) {
        const auto direction = transport::Direction::kGet;
        ASSERT_TRUE(server.until([&] { return server.channel().credits(direction) != 0; }));
        ASSERT_TRUE(server.channel().take_lease(direction));
      } else {
        const auto first = server.next();
        ASSERT_TRUE(first);
        server.offer(PlayedEnd::refusal(*first));
      }
      const auto second = server.next();
      ASSERT_TRUE(second);
      server.offer(PlayedEnd::refusal(*second));
      // The next one is submitted once this one has been answered; it is lost.
      (void)server.next();
    }
  });
  {
    Client client =
        Client::connect(fmt::format(":{}", listener.port()), session(), retrying(1)).value();
    auto first = client.submit(photo(), width(20));
    for (int i = 0; i < kServers; ++i) {
      EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kUnsupported) << i;
    }
    EXPECT_EQ(first.get().error().to_string(), "unsupported: no");
  }
  playing.get();
}

TEST_F(RemoteRetry, AServerThatLiedIsNotBelievedAgain) {
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    {
      PlayedEnd server(listener.accept(20'000).value());
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome());
      auto request = server.next();
      ASSERT_TRUE(request);
      request->head.number += 1000;
      server.offer(PlayedEnd::refusal(*request));
      (void)server.until([] { return false; });
    }
    EXPECT_FALSE(listener.accept(1'000));
  });
  Client client =
      Client::connect(fmt::format(":{}", listener.port()), session(), retrying(1)).value();
  auto answer = client.submit(photo(), width(20));
  playing.get();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  const auto made = answer.get();
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("cannot be"));
}

// A server that greets after five seconds when the client comes again.
TEST_F(RemoteRetry, WhatTakesLongToConnectConnectsAgain) {
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    for (int i = 0; i < 2; ++i) {
      PlayedEnd server(listener.accept(20'000).value());
      ASSERT_TRUE(server.next());
      if (i == 1) std::this_thread::sleep_for(std::chrono::seconds(5));
      server.offer(PlayedEnd::welcome());
      const auto request = server.next();
      ASSERT_TRUE(request);
      if (i == 0) continue;
      server.offer(PlayedEnd::refusal(*request));
      (void)server.next();
    }
  });
  {
    ClientOptions options = retrying();
    options.timeout = std::chrono::seconds(9);
    Client client =
        Client::connect(fmt::format(":{}", listener.port()), session(), options).value();
    EXPECT_EQ(client.resize(photo(), width(20)).error().code(), StatusCode::kUnsupported);
  }
  playing.get();
}

/// A listener of a port whose system drops whoever connects, as if the host were gone: nobody
/// accepts, and no more may wait than do.
class FullListener {
 public:
  explicit FullListener(std::uint16_t port) : listener_(bound(port)) {
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    for (auto& waiting : waiting_) {
      waiting =
          base::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const sockaddr_in to = loopback(port);
      (void)::connect(waiting.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static base::FileDescriptor bound(std::uint16_t port) {
    base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in at = loopback(port);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    return socket;
  }

  base::FileDescriptor listener_;
  std::array<base::FileDescriptor, 4> waiting_;
};

// Nobody is there; then somebody who never shakes hands; then a host that says nothing.
TEST_F(RemoteRetry, WhoStopsRetryingIsAnsweredSoon) {
  enum class There : std::uint8_t { kNobody, kSilent, kNoHost };
  for (const There there : {There::kNobody, There::kSilent, There::kNoHost}) {
    const std::uint16_t port = framewire::test::free_port();
    start({}, port);
    ClientOptions options = retrying();
    options.timeout = kPatience;
    Client client = connect(options);
    server_.reset();
    std::optional<transport::Listener> silent;
    std::optional<FullListener> no_host;
    if (there == There::kNoHost) {
      no_host.emplace(port);
    } else if (there == There::kSilent) {
      silent.emplace(transport::Listener::listen(fmt::format(":{}", port), session()).value());
    }
    auto answer = client.submit(photo(), width(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto begun = std::chrono::steady_clock::now();
    client::Retries::stop(client);
    EXPECT_EQ(answer.get().error().code(), StatusCode::kPeerLost);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  }
}

TEST_F(RemoteRetry, WhatIsHeldBackForTheNextServerIsAnsweredByAStop) {
  RemoteServerOptions server;
  server.under_way = 1;
  start(server);
  Client client = connect(retrying());
  EXPECT_TRUE(client.resize(photo(), width(20)));
  EXPECT_TRUE(server_->drain(kPatience));
  ASSERT_TRUE(soon([&] { return client.draining(); }));
  auto answer = client.submit(photo(), width(20));
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  client::Retries::stop(client);
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kBusy);
}

}  // namespace
}  // namespace framewire::service::remote::test
