// A server that lies to a client on another host.
#include <atomic>
#include <future>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;

class RemoteHostileServerAttack : public RemoteServerTest {
 protected:
  void SetUp() override {
    transport::SessionOptions options;
    options.security.psk_file = path("keys");
    options.links = {transport::kStreamLink};
    listener_.emplace(transport::Listener::listen(":0", options).value());
  }
  [[nodiscard]] std::string address() const { return fmt::format(":{}", listener_->port()); }
  /// Plays the server on a thread of its own.
  void play(std::function<void(PlayedEnd&)> role) {
    playing_ = std::async(std::launch::async, [this, role = std::move(role)] {
      auto channel = listener_->accept(20'000);
      if (!channel) throw std::runtime_error(channel.error().to_string());
      PlayedEnd server(std::move(*channel));
      role(server);
    });
  }
  [[nodiscard]] Result<Client> come(std::chrono::milliseconds timeout = kPatience) const {
    ClientOptions options = small_client();
    options.slots = 4;
    options.output_bytes = 1u << 20;
    options.timeout = timeout;
    return Client::connect(address(), session(), options);
  }
  /// A server that welcomes, takes one request, and then does something else.
  void expect_loss(const std::string& said, std::function<void(PlayedEnd&, std::uint64_t)> then) {
    SCOPED_TRACE(said);
    play([then = std::move(then)](PlayedEnd& server) {
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome());
      const auto request = server.next();
      ASSERT_TRUE(request);
      then(server, request->head.number);
      (void)server.until([] { return false; });  // until the client has gone
    });
    auto client = come();
    ASSERT_TRUE(client) << client.error().to_string();
    std::atomic<int> answers{0};
    for (int i = 0; i < 2; ++i) {
      client->submit(photo(), width(20), [&](Result<Resized> made) {
        ++answers;
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
        EXPECT_THAT(made.error().message(), HasSubstr(said));
      });
    }
    client->drain();
    EXPECT_EQ(answers, 2);
    EXPECT_TRUE(client->lost());
    playing_.get();
  }
  static PlayedEnd::Bytes failed(std::uint32_t slot, std::uint64_t number) {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kFailed;
    head.slot = slot;
    head.number = number;
    std::array<std::byte, 1000> text;
    const auto bytes = ipc::write_error({StatusCode::kBusy, "not now"}, text);
    return PlayedEnd::make(head, {reinterpret_cast<const char*>(text.data()), bytes});
  }

  std::optional<transport::Listener> listener_;
  std::future<void> playing_;
};

TEST_F(RemoteHostileServerAttack, AGreetingThatDoesNotComeIsWaitedForNoLongerThanSaid) {
  play([](PlayedEnd& server) { (void)server.until([] { return false; }); });
  const auto client = come(std::chrono::seconds(3));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kDeadline);
  playing_.get();
}

TEST_F(RemoteHostileServerAttack, AWelcomeThatCannotBeIsNoConnection) {
  ipc::MessageHead end;
  end.type = ipc::MessageType::kEnd;
  for (const auto& bytes :
       {PlayedEnd::welcome(5), PlayedEnd::hello(), PlayedEnd::Bytes(64), PlayedEnd::Bytes(1),
        PlayedEnd::Bytes(64u << 20), PlayedEnd::make(end, "damaged")}) {
    play([&bytes](PlayedEnd& server) {
      ASSERT_TRUE(server.next());
      server.offer(bytes);
      (void)server.until([] { return false; });
    });
    const auto client = come();
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code(), StatusCode::kPeerLost) << client.error().to_string();
    playing_.get();
  }
}

TEST_F(RemoteHostileServerAttack, ItsReasonForARefusalIsTheClients) {
  play([](PlayedEnd& server) {
    ASSERT_TRUE(server.next());
    ipc::MessageHead head;
    head.type = ipc::MessageType::kEnd;
    std::array<std::byte, 1000> text;
    const auto bytes = ipc::write_error({StatusCode::kBusy, "come later"}, text);
    server.offer(PlayedEnd::make(head, {reinterpret_cast<const char*>(text.data()), bytes}));
    (void)server.until([] { return false; });
  });
  const auto client = come();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), StatusCode::kBusy);
  EXPECT_EQ(client.error().message(), "come later");
  playing_.get();
}

TEST_F(RemoteHostileServerAttack, AnswersToWhatWasNotAskedEndTheConnection) {
  const std::string lie = "cannot be";
  expect_loss(lie, [](PlayedEnd& server, std::uint64_t) { server.offer(failed(3, 1)); });
  expect_loss(lie, [](PlayedEnd& server, std::uint64_t) { server.offer(failed(1'000'000, 1)); });
  expect_loss(
      lie, [](PlayedEnd& server, std::uint64_t number) { server.offer(failed(0, number + 100)); });
  expect_loss(lie, [](PlayedEnd& server, std::uint64_t number) {
    server.offer(PlayedEnd::request(0, number, photo()));
  });
}

// Such messages would stay with the client, which would count none of their bytes.
TEST_F(RemoteHostileServerAttack, AnAnswerToWhatWasNotFetchedEndsTheConnection) {
  for (const bool resized : {false, true}) {
    play([resized](PlayedEnd& server) {
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome());
      const auto offered = [&] {
        return server.channel().credits(transport::Direction::kGet) != 0;
      };
      ASSERT_TRUE(server.until(offered));
      ipc::MessageHead head;
      head.type = ipc::MessageType::kResized;
      head.number = 1;
      std::array<std::byte, 2000> text;
      const auto bytes = ipc::write_report({}, text);
      server.offer(resized ? PlayedEnd::make(
                                 head, {reinterpret_cast<const char*>(text.data()), bytes}, photo())
                           : failed(0, 1));
      (void)server.until([] { return false; });
    });
    auto client = come();
    ASSERT_TRUE(client) << client.error().to_string();
    const auto made = client->resize(photo(), width(20));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), StatusCode::kPeerLost) << made.error().to_string();
    EXPECT_THAT(made.error().message(), HasSubstr("was not fetched"));
    playing_.get();
  }
}

TEST_F(RemoteHostileServerAttack, AnAnswerThatComesTwiceIsGivenOnce) {
  play([](PlayedEnd& server) {
    ASSERT_TRUE(server.next());
    server.offer(PlayedEnd::welcome());
    const auto request = server.next();
    ASSERT_TRUE(request);
    const auto answer = failed(request->head.slot, request->head.number);
    server.offer(answer);
    server.offer(answer);
    (void)server.until([] { return false; });
  });
  auto client = come();
  ASSERT_TRUE(client);
  std::atomic<int> answers{0};
  client->submit(photo(), width(20), [&](Result<Resized> made) {
    ++answers;
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), StatusCode::kBusy);
  });
  EXPECT_TRUE(soon([&] { return client->lost().has_value(); }));
  EXPECT_EQ(answers, 1);
  playing_.get();
}

TEST_F(RemoteHostileServerAttack, LengthsAndBytesThatCannotBeEndTheConnection) {
  expect_loss("a message of 2", [](PlayedEnd& server, std::uint64_t) {
    server.offer_length(2u << 20);  // more than a report and an output of 1 MiB
  });
  expect_loss("a message of 3 bytes",
              [](PlayedEnd& server, std::uint64_t) { server.offer_length(3); });
  expect_loss("no message", [](PlayedEnd& server, std::uint64_t) { server.offer_length(640); });
}

TEST_F(RemoteHostileServerAttack, DamagedReportsEndTheConnection) {
  for (const auto type : {ipc::MessageType::kResized, ipc::MessageType::kFailed}) {
    expect_loss("damaged", [type](PlayedEnd& server, std::uint64_t number) {
      ipc::MessageHead head;
      head.type = type;
      head.number = number;
      const bool resized = type == ipc::MessageType::kResized;
      server.offer(PlayedEnd::make(head, "rubbish", resized ? photo() : Bytes()));
    });
  }
}

TEST_F(RemoteHostileServerAttack, AServerThatGoesSilentlyLosesNoAnswer) {
  expect_loss("gone", [](PlayedEnd& server, std::uint64_t) { server.channel().close(); });
}

}  // namespace
}  // namespace framewire::service::remote::test
