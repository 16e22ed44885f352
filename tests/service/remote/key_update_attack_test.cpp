// A client or a server with a key that sends TLS records by which nothing comes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <future>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <tests/transport/key_updates.hpp>
#include <transport/wire/control.hpp>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;
using transport::testing::KeyUpdater;

// What a socket holds of them, and more than anybody sends without a reason.
constexpr int kUpdates = 2'000;

class RemoteKeyUpdateAttack : public RemoteServerTest {
 protected:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }
  /// What the transport's client says first.
  static std::vector<std::byte> first_words() {
    transport::wire::Greeting greeting;
    greeting.capacity = 64;
    greeting.links = {{transport::kStreamLink, {}}};
    const auto body = transport::wire::encode(greeting);
    std::vector<std::byte> words(transport::wire::kFrameHeadBytes);
    transport::wire::encode(
        {transport::wire::FrameType::kHello, static_cast<std::uint32_t>(body.size()), 0},
        std::span<std::byte, transport::wire::kFrameHeadBytes>(words.data(), words.size()));
    words.insert(words.end(), body.begin(), body.end());
    return words;
  }
};

TEST_F(RemoteKeyUpdateAttack, AClientWithNothingElseToSayIsSentAway) {
  start();
  base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(server_->port());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  KeyUpdater client(std::move(socket), false);
  client.say(first_words());
  client.listen();
  ASSERT_TRUE(client.good());
  client.update_keys(kUpdates);
  const Status why = end_of(RemoteEvent::Kind::kRefused);
  EXPECT_EQ(why.code(), StatusCode::kPeerLost) << why.to_string();
  EXPECT_THAT(why.message(), HasSubstr("bring nothing"));
  EXPECT_TRUE(connect().resize(photo(), width(20)));
  server_.reset();
}

TEST_F(RemoteKeyUpdateAttack, AServerWithNothingElseToSayIsLost) {
  base::FileDescriptor door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = loopback(0);
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(door.get(), 1), 0);
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const auto playing = std::async(std::launch::async, [&door] {
    KeyUpdater server(base::FileDescriptor(::accept(door.get(), nullptr, nullptr)), true);
    server.update_keys(kUpdates);
    server.await_end();
  });
  ClientOptions options = small_client();
  options.timeout = std::chrono::seconds(20);
  const auto client =
      Client::connect(fmt::format("127.0.0.1:{}", ntohs(at.sin_port)), session(), options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kPeerLost) << client.error().to_string();
  EXPECT_THAT(client.error().message(), HasSubstr("bring nothing"));
}

}  // namespace
}  // namespace framewire::service::remote::test
