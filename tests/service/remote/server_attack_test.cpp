// Clients on other hosts that lie, dawdle, or are strangers: what a server makes of them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <base/file_descriptor.hpp>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;

/// Short times for those who dawdle, and long enough for who is honest on a busy machine.
RemoteServerOptions impatient() {
  RemoteServerOptions options;
  options.greeting = std::chrono::seconds(2);
  options.patience = std::chrono::seconds(2);
  options.min_bytes_per_s = 100u << 20;
  return options;
}

class RemoteServerAttack : public RemoteServerTest {
 protected:
  [[nodiscard]] PlayedEnd play(const std::string& name = "ann") const {
    auto channel = transport::connect(address(), session("keys", name));
    if (!channel) throw std::runtime_error(channel.error().to_string());
    return PlayedEnd(std::move(*channel));
  }
  /// Whether somebody honest is served meanwhile.
  void expect_service() const {
    EXPECT_TRUE(soon([this] {
      auto client = Client::connect(address(), session("keys", "bob"), small_client());
      return client && client->resize(photo(), width(20)).has_value();
    }));
  }
  /// Greets, offers, and expects to be sent away for a lie.
  void expect_lie(PlayedEnd::Bytes bytes, const std::string& said) {
    SCOPED_TRACE(said);
    const std::size_t before = count(RemoteEvent::Kind::kEnded);
    PlayedEnd client = play();
    ASSERT_TRUE(client.greet());
    client.offer(std::move(bytes));
    const auto why = client.last_word();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code(), StatusCode::kInvalidInput);
    EXPECT_THAT(why->message(), HasSubstr(said));
    EXPECT_EQ(end_of(RemoteEvent::Kind::kEnded, before).code(), StatusCode::kInvalidInput);
  }
  [[nodiscard]] base::FileDescriptor call() const {
    base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return socket;
  }
};

TEST_F(RemoteServerAttack, StrangersAreNotServed) {
  start();
  const auto code_of = [&](const std::string& keys, const std::string& name) {
    const auto client = Client::connect(address(), session(keys, name), small_client());
    return client ? StatusCode::kCancelled : client.error().code();
  };
  EXPECT_EQ(code_of("other", "ann"), StatusCode::kDenied) << "another key of the same name";
  EXPECT_EQ(code_of("other", "eve"), StatusCode::kDenied) << "the same key of another name";
  transport::SessionOptions open;
  open.security.insecure = true;
  EXPECT_FALSE(Client::connect(address(), open, small_client())) << "no TLS";
  EXPECT_EQ(count(RemoteEvent::Kind::kConnected), 0u);
  expect_service();
}

TEST_F(RemoteServerAttack, ANameThatIsNotAllowedIsNotServed) {
  RemoteServerOptions options;
  options.security.allowed = {"bob"};
  start(options);
  EXPECT_FALSE(Client::connect(address(), session("keys", "ann"), small_client()));
  expect_service();
}

TEST_F(RemoteServerAttack, AServerWithoutKeysDoesNotStart) {
  engine_ = std::make_unique<Engine>(Engine::make(host_engine()).value());
  OwnEngine pictures(*engine_);
  http::ClientAdmission admission({});
  RemoteServerOptions options;
  options.address = ":0";
  options.security.insecure = true;
  EXPECT_EQ(RemoteServer::start(pictures, admission, options).error().code(),
            StatusCode::kInvalidInput);
}

TEST_F(RemoteServerAttack, GarbageAndAThousandHalfOpenConnectionsKeepNobodyOut) {
  start();
  std::vector<base::FileDescriptor> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(call());
    if (i % 2 == 0) (void)!::send(crowd.back().get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  }
  expect_service();
}

TEST_F(RemoteServerAttack, WhoProvesAKeyAndSaysNothingIsSentAway) {
  start(impatient());
  PlayedEnd client = play();
  EXPECT_TRUE(client.last_word());
  EXPECT_EQ(end_of(RemoteEvent::Kind::kRefused).code(), StatusCode::kDeadline);
  expect_service();
}

TEST_F(RemoteServerAttack, WhatIsNoGreetingIsRefused) {
  start();
  const auto expect_refusal = [this](PlayedEnd::Bytes bytes, StatusCode code) {
    const std::size_t before = count(RemoteEvent::Kind::kRefused);
    PlayedEnd client = play();
    client.offer(std::move(bytes));
    const auto why = client.last_word();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code(), code);
    EXPECT_EQ(end_of(RemoteEvent::Kind::kRefused, before).code(), code);
  };
  expect_refusal(PlayedEnd::Bytes(64), StatusCode::kInvalidInput);
  expect_refusal(PlayedEnd::Bytes(63), StatusCode::kInvalidInput);
  expect_refusal(PlayedEnd::Bytes(100'000), StatusCode::kInvalidInput);
  expect_refusal(PlayedEnd::welcome(), StatusCode::kInvalidInput);
  auto other_version = PlayedEnd::hello();
  other_version[4] = std::byte{9};
  expect_refusal(std::move(other_version), StatusCode::kUnsupported);
  EXPECT_EQ(count(RemoteEvent::Kind::kConnected), 0u);
}

TEST_F(RemoteServerAttack, LiesEndTheConnection) {
  start();
  expect_lie(PlayedEnd::request(4, 1, photo()), "found slot 4");
  expect_lie(PlayedEnd::request(0xFFFFFFFF, 1, photo()), "found slot");
  expect_lie(PlayedEnd::hello(), "comes from no client");
  expect_lie(PlayedEnd::Bytes(1000), "no message");
  expect_lie(PlayedEnd::Bytes(1), "a message of 1 bytes was offered");
  auto longer = PlayedEnd::request(0, 1, photo());
  longer.resize(longer.size() + 64);
  expect_lie(std::move(longer), "that says it has");
  auto shorter = PlayedEnd::request(0, 1, photo());
  shorter.resize(shorter.size() - 1);
  expect_lie(std::move(shorter), "that says it has");
  expect_lie(PlayedEnd::request(0, 1, {}, std::string(ipc::kMaxOptionsBytes + 1, 'x')),
             "that says it has");
  ipc::MessageHead endless;
  endless.type = ipc::MessageType::kRequest;
  endless.number = 1;
  endless.body_bytes = ~std::uint64_t{0} - 63;
  expect_lie(PlayedEnd::only_head(endless), "that says it has");
  ipc::MessageHead cancel;
  cancel.type = ipc::MessageType::kCancel;
  cancel.slot = 77;
  cancel.number = 1;
  expect_lie(PlayedEnd::only_head(cancel), "found slot 77");
  expect_service();
}

TEST_F(RemoteServerAttack, AMessageLargerThanAllowedIsNotFetched) {
  RemoteServerOptions options;
  options.limits.max_input_bytes = 100'000;
  start(options);
  expect_lie(PlayedEnd::Bytes(10 << 20), "was offered; accepted: 64 to");
}

TEST_F(RemoteServerAttack, ASlotThatIsUsedTwiceEndsTheConnection) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  PlayedEnd client = play();
  ASSERT_TRUE(client.greet());
  const HeldEngine held(*engine_, 2);
  for (std::uint64_t i = 1; i <= 3; ++i) client.offer(PlayedEnd::request(1, i, photo()));
  const auto why = client.last_word();
  ASSERT_TRUE(why);
  EXPECT_THAT(why->message(), HasSubstr("slot 1 was used again"));
}

TEST_F(RemoteServerAttack, OptionsThatCannotBeAreAnswered) {
  start();
  PlayedEnd client = play();
  ASSERT_TRUE(client.greet());
  std::uint64_t number = 0;
  for (const char* options : {"size=-5x", "no-such=1", "size", " ", "=", "quality=99999999999"}) {
    SCOPED_TRACE(options);
    client.offer(PlayedEnd::request(2, ++number, photo(), options));
    const auto answer = client.next();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->head.type, ipc::MessageType::kFailed);
    EXPECT_EQ(answer->head.number, number);
    EXPECT_EQ(ipc::read_error(answer->text)->code(), StatusCode::kInvalidInput);
  }
  // Neither options nor a JPEG: as short as a message without a body.
  client.offer(PlayedEnd::request(0, 99, {}, ""));
  const auto answer = client.next();
  ASSERT_TRUE(answer);
  EXPECT_EQ(ipc::read_error(answer->text)->code(), StatusCode::kInvalidInput);
  client.offer(PlayedEnd::request(3, 100, photo()));
  EXPECT_EQ(client.next()->head.type, ipc::MessageType::kResized);
}

TEST_F(RemoteServerAttack, WhatIsOfferedAndNotSentEndsTheConnection) {
  start(impatient());
  PlayedEnd client = play();
  ASSERT_TRUE(client.greet());
  client.offer(PlayedEnd::request(0, 1, photo(1200, 900)));
  // The offer goes out; nobody serves what the server asks for then.
  client.channel().idle(1);
  EXPECT_EQ(end_of(RemoteEvent::Kind::kEnded).code(), StatusCode::kDeadline);
  EXPECT_TRUE(soon([&] { return admission_->usage().bytes == 0; }));
  expect_service();
}

TEST_F(RemoteServerAttack, AnswersThatNobodyTakesAreBounded) {
  RemoteServerOptions options = impatient();
  options.output_bytes = 10'000;
  options.limits.deadline_ms = 0;
  start(options);
  PlayedEnd client = play();
  constexpr std::uint32_t kSlots = 64;
  ASSERT_TRUE(client.greet(kSlots));
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    client.offer(PlayedEnd::request(i, i + 1, photo(), ""));
  }
  std::uint64_t most = 0;
  // Sends what it is asked for, and takes nothing.
  (void)client.until([&] {
    most = std::max(most, admission_->usage().bytes);
    return count(RemoteEvent::Kind::kEnded) != 0;
  });
  EXPECT_EQ(end_of(RemoteEvent::Kind::kEnded).code(), StatusCode::kDeadline);
  // All of them and their answers would be more than twice as much.
  EXPECT_LT(most, kSlots * photo().size());
  EXPECT_TRUE(soon([&] { return admission_->usage().requests + admission_->usage().bytes == 0; }));
}

TEST_F(RemoteServerAttack, FloodsOfCancellationsAndOffersThatAreTakenBackEndNothing) {
  start();
  PlayedEnd client = play();
  ASSERT_TRUE(client.greet());
  ipc::MessageHead cancel;
  cancel.type = ipc::MessageType::kCancel;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    cancel.slot = static_cast<std::uint32_t>(i % 4);
    cancel.number = i;
    client.offer(PlayedEnd::only_head(cancel));
    client.channel().progress();
  }
  client.offer(PlayedEnd::request(0, 1, photo()));
  const auto answer = client.next();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.type, ipc::MessageType::kResized);
}

TEST_F(RemoteServerAttack, DyingInTheMiddleLeavesNothingBehind) {
  RemoteServerOptions options;
  options.under_way = 1;
  start(options);
  HeldEngine held(*engine_, 2);
  {
    PlayedEnd client = play();
    ASSERT_TRUE(client.greet());
    for (std::uint32_t i = 0; i < 4; ++i) {
      client.offer(PlayedEnd::request(i, i + 1, photo(1200, 900)));
    }
    ASSERT_TRUE(client.until([&] { return admission_->usage().requests != 0; }));
  }
  held.release();
  EXPECT_EQ(end_of(RemoteEvent::Kind::kEnded).code(), StatusCode::kPeerLost);
  EXPECT_TRUE(soon([&] { return server_->stats().clients == 0; }));
  EXPECT_TRUE(soon([&] { return admission_->usage().requests + admission_->usage().bytes == 0; }));
}

// What went over the wire once is of no use to whoever recorded it.
TEST_F(RemoteServerAttack, ARecordedConnectionCannotBeReplayed) {
  start();
  base::FileDescriptor door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(door.get(), 1), 0);
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  std::string recorded;
  std::thread between([&] {
    const base::FileDescriptor near(::accept(door.get(), nullptr, nullptr));
    const base::FileDescriptor far = call();
    std::array<pollfd, 2> files{{{near.get(), POLLIN, 0}, {far.get(), POLLIN, 0}}};
    std::array<char, 65536> bytes;
    while (::poll(files.data(), 2, -1) > 0) {
      for (int from = 0; from < 2; ++from) {
        if (files[static_cast<std::size_t>(from)].revents == 0) continue;
        const auto count =
            ::recv(files[static_cast<std::size_t>(from)].fd, bytes.data(), bytes.size(), 0);
        if (count <= 0) return;
        if (from == 0) recorded.append(bytes.data(), static_cast<std::size_t>(count));
        (void)!::send(files[static_cast<std::size_t>(1 - from)].fd, bytes.data(),
                      static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
    }
  });
  {
    auto client =
        Client::connect(fmt::format(":{}", ntohs(at.sin_port)), session(), small_client());
    ASSERT_TRUE(client) << client.error().to_string();
    EXPECT_TRUE(client->resize(photo(), width(20)));
  }
  between.join();
  ASSERT_EQ(count(RemoteEvent::Kind::kConnected), 1u);
  ASSERT_GT(recorded.size(), photo().size());

  const base::FileDescriptor again = call();
  ASSERT_EQ(::send(again.get(), recorded.data(), recorded.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(recorded.size()));
  // Until the server hangs up.
  std::array<char, 65536> bytes;
  while (::recv(again.get(), bytes.data(), bytes.size(), 0) > 0) {
  }
  EXPECT_EQ(count(RemoteEvent::Kind::kConnected), 1u);
}

}  // namespace
}  // namespace framewire::service::remote::test
