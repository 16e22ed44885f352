// Messages of requests that have an answer, which the link still sends: their bytes count, so that
// a server which answers before it has fetched does not make a client hold more than it allows.
#include <atomic>
#include <chrono>
#include <client/retries.hpp>
#include <future>
#include <list>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using transport::Direction;

/// Far more than the buffers of two sockets hold.
constexpr std::size_t kLarge = 64u << 20;

class RemoteKeptMessages : public RemoteServerTest {
 protected:
  /// Also where a test has failed on its way.
  void TearDown() override {
    go_on();
    ends_ = true;
    if (playing_.valid()) playing_.wait();
    RemoteServerTest::TearDown();
  }
  /// A server that begins to fetch the first request, has the client fetch what it says meanwhile,
  /// and fetches no more until it is told to.
  /// @param says  in this order; the request is number 1, in slot 0
  void play(std::vector<PlayedEnd::Bytes> says) {
    listener_.emplace(transport::Listener::listen(":0", session()).value());
    playing_ = std::async(std::launch::async, [this, says = std::move(says)]() mutable {
      PlayedEnd server(listener_->accept(20'000).value());
      ASSERT_TRUE(server.next());
      server.offer(PlayedEnd::welcome(4, kLarge));
      transport::Channel& channel = server.channel();
      ASSERT_TRUE(server.until([&] { return channel.credits(Direction::kGet) != 0; }));
      const auto lease = channel.take_lease(Direction::kGet).value();
      std::list<transport::Transfer> said;
      transport::OfferOptions options;
      options.direction = Direction::kGet;
      options.ttl_ms = options.work_ms = 600'000;
      for (auto& bytes : says) {
        said.push_back(
            channel.offer(transport::Region::view(bytes), 0, bytes.size(), options).value());
      }
      // The client asks for what it is told before it has begun to send: nothing is read here until
      // its requests for that lie in the socket, before all bytes of its own request.
      channel.idle(20'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::vector<std::byte> request(lease.length_bytes);
      const auto fetch =
          channel.get(lease, transport::Region::view(request), 0, request.size()).value();
      ASSERT_TRUE(server.until([&] {
        return std::ranges::all_of(said, [&](const auto& one) { return channel.done(one); });
      }));
      ASSERT_FALSE(channel.done(fetch)) << "the request has come whole, too soon";
      goes_on_.wait(false);
      (void)server.until([this] { return ends_.load(); });
    });
  }
  void go_on() {
    goes_on_ = true;
    goes_on_.notify_all();
  }
  /// The server goes, and with it all that it has not answered.
  void end() {
    ends_ = true;
    client_.reset();
    playing_.get();
  }
  void connect_to_played(std::uint32_t retries) {
    ClientOptions options = small_client();
    options.slots = 4;
    options.input_bytes = kLarge;
    options.retries = retries;
    auto client = Client::connect(fmt::format(":{}", listener_->port()), session(), options);
    ASSERT_TRUE(client) << client.error().to_string();
    client_.emplace(std::move(*client));
  }
  /// Hands in the request that the server begins to fetch.
  [[nodiscard]] std::future<Result<Resized>> submit() {
    auto promise = std::make_shared<std::promise<Result<Resized>>>();
    EngineRequest request{large_, width(20),
                          [promise](Result<Resized> made) { promise->set_value(std::move(made)); }};
    request.stop = stop_.get_token();
    client_->submit({&request, 1});
    return promise->get_future();
  }
  /// Whether the client has room for another input of the same size.
  [[nodiscard]] bool takes_another() {
    EngineRequest request{large_, width(20), [](const Result<Resized>&) {}};
    return client_->try_submit(request, {}).has_value();
  }
  static PlayedEnd::Bytes failed(StatusCode code) {
    ipc::MessageHead head;
    head.type = ipc::MessageType::kFailed;
    head.slot = 0;
    head.number = 1;
    std::array<std::byte, 1000> text;
    const auto bytes = ipc::write_error({code, "no"}, text);
    return PlayedEnd::make(head, {reinterpret_cast<const char*>(text.data()), bytes});
  }

  const Bytes large_ = Bytes(kLarge - 4096);
  std::stop_source stop_;
  std::optional<transport::Listener> listener_;
  std::optional<Client> client_;
  std::atomic<bool> goes_on_{false};
  std::atomic<bool> ends_{false};
  std::future<void> playing_;
};

TEST_F(RemoteKeptMessages, CountBehindAnAnswerUntilTheyAreLetGo) {
  play({failed(StatusCode::kUnsupported)});
  connect_to_played(0);
  auto answer = submit();
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kUnsupported);
  EXPECT_FALSE(takes_another()) << "the first one's message is being sent still";
  go_on();
  EXPECT_TRUE(soon([this] { return takes_another(); })) << "it has been sent";
  end();
}

/// A request that a draining server has begun to fetch, and then refused, waits for the next
/// server. Where it is cancelled meanwhile its message counts on, as long as it is being sent.
TEST_F(RemoteKeptMessages, CountBehindACancellationWhileTheServerDrains) {
  play({PlayedEnd::draining(), failed(StatusCode::kBusy)});
  connect_to_played(1);
  auto answer = submit();
  ASSERT_TRUE(soon([this] { return client_->draining(); }));
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
      << "it waits for the next server";
  stop_.request_stop();
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get().error().code(), StatusCode::kCancelled);
  EXPECT_FALSE(takes_another()) << "its message is being sent still";
  go_on();
  EXPECT_TRUE(soon([this] { return takes_another(); })) << "it has been sent";
  client::Retries::stop(*client_);
  end();
}

/// What is held back for the next server is answered once it is cancelled, the rest is not.
TEST_F(RemoteKeptMessages, OnlyWhatIsCancelledIsDroppedWhileTheServerDrains) {
  start();
  ClientOptions options = small_client();
  options.retries = 1;
  Client client = connect(options);
  EXPECT_TRUE(client.resize(photo(), width(20)));
  EXPECT_TRUE(server_->drain(kPatience));
  ASSERT_TRUE(soon([&] { return client.draining(); }));
  const Bytes file = photo();
  constexpr int kAll = 20;
  std::array<std::stop_source, kAll> stops;
  std::array<std::atomic<int>, kAll> cancelled{};
  std::atomic<int> others{0};
  for (int i = 0; i < kAll; ++i) {
    EngineRequest request{file, width(20), [&, i](const Result<Resized>& made) {
                            const bool was_cancelled =
                                !made && made.error().code() == StatusCode::kCancelled;
                            ++(was_cancelled ? cancelled[i] : others);
                          }};
    request.stop = stops[i].get_token();
    client.submit({&request, 1});
  }
  for (int i = 0; i < kAll; i += 2) stops[i].request_stop();
  for (int i = 0; i < kAll; i += 2) {
    EXPECT_TRUE(soon([&] { return cancelled[i] == 1; })) << i;
  }
  EXPECT_EQ(others, 0) << "the others wait for the next server";
  client::Retries::stop(client);
  client.drain();
  EXPECT_EQ(others, kAll / 2);
  for (int i = 0; i < kAll; ++i) EXPECT_EQ(cancelled[i], i % 2 == 0 ? 1 : 0) << i;
}

}  // namespace
}  // namespace framewire::service::remote::test
