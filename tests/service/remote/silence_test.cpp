// Servers on other hosts that are there and do nothing.
#include <client/remote_session.hpp>
#include <future>
#include <tests/service/remote/played_end.hpp>
#include <tests/service/remote/remote_server_fixture.hpp>
#include <thread>

namespace framewire::service::remote::test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kShortTime{3000};

class RemoteSilence : public RemoteServerTest {
 protected:
  ~RemoteSilence() override {
    if (!remote_) return;
    outstanding_.wait_for_all();
    remote_->close();
    thread_.join();
  }
  void connect_to(const std::string& where, std::chrono::milliseconds patience = kShortTime,
                  const ClientOptions& options = small_client()) {
    remote_ = client::RemoteSession::connect({where, session(), options, patience}).value();
    thread_ = std::thread([this] { remote_->receive(); });
  }
  std::future<Result<Resized>> submit(std::span<const std::uint8_t> jpeg) {
    auto answer = std::make_shared<std::promise<Result<Resized>>>();
    client::Order order;
    order.jpeg = jpeg;
    order.options = remote_->options().find(width(40));
    order.done = [answer](Result<Resized> made) { answer->set_value(std::move(made)); };
    order.ticket = outstanding_.begin_request();
    remote_->submit({&order, 1}, true, {});
    return answer->get_future();
  }

  client::Outstanding outstanding_;
  std::shared_ptr<client::RemoteSession> remote_;
  std::thread thread_;
};

TEST_F(RemoteSilence, AServerThatFetchesNothingCountsAsGone) {
  auto listener = transport::Listener::listen(":0", session()).value();
  std::promise<void> over;
  auto playing = std::async(std::launch::async, [&] {
    PlayedEnd server(listener.accept(20'000).value());
    ASSERT_TRUE(server.next());
    server.offer(PlayedEnd::welcome());
    (void)server.next();  // which takes one request, and with it the welcome is on its way
    over.get_future().wait();
  });
  connect_to(fmt::format(":{}", listener.port()));
  const Bytes file = photo();
  auto first = submit(file);
  auto second = submit(file);
  for (auto* answer : {&first, &second}) {
    ASSERT_EQ(answer->wait_for(kPatience), std::future_status::ready);
    const auto made = answer->get();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
    EXPECT_THAT(made.error().message(), HasSubstr("no sign of life"));
  }
  over.set_value();
  playing.get();
}

/// Shows signs of life and does nothing else, for so long or until the client has gone.
void show_life(PlayedEnd& server, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!server.channel().lost() && std::chrono::steady_clock::now() < end) {
    server.offer(PlayedEnd::draining());
    const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    (void)server.until([&] { return std::chrono::steady_clock::now() > next; });
  }
}

// Neither what it does not fetch is a reason to wait, however large it is, nor what it has fetched
// at once: a megabyte may take 16 s.
TEST_F(RemoteSilence, SignsOfLifeWithoutAnAnswerHoldNobodyForEver) {
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    PlayedEnd server(listener.accept(20'000).value());
    ASSERT_TRUE(server.next());
    server.offer(PlayedEnd::welcome());
    ASSERT_TRUE(server.next());
    show_life(server, kPatience);
  });
  connect_to(fmt::format(":{}", listener.port()), std::chrono::milliseconds(100));
  const Bytes large(1'000'000);
  const auto begun = std::chrono::steady_clock::now();
  auto answer = submit(large);
  auto unfetched = submit(large);
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(12));
  const auto made = answer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("answered nothing"));
  playing.get();
}

TEST_F(RemoteSilence, ARequestThatIsBeingFetchedExtendsTheTimeForAnAnswer) {
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    PlayedEnd server(listener.accept(20'000).value());
    ASSERT_TRUE(server.next());
    server.offer(PlayedEnd::welcome(4, std::uint64_t{80} << 20));
    const auto request = server.next_slowly(std::chrono::seconds(5));
    ASSERT_TRUE(request);
    server.offer(PlayedEnd::refusal(*request));
    (void)server.until([] { return false; });
  });
  ClientOptions options = small_client();
  options.input_bytes = std::uint64_t{80} << 20;
  connect_to(fmt::format(":{}", listener.port()), std::chrono::milliseconds(200), options);
  const Bytes large(80'000'000);
  auto answer = submit(large);
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_THAT(answer.get().error().to_string(), HasSubstr("unsupported: no"));
  remote_->close();
  playing.get();
}

TEST(WithoutAnswer, CountsNoTimeInWhichRequestsAreOnTheirWay) {
  using std::chrono::seconds;
  client::WithoutAnswer without;
  auto now = base::Clock::now();
  without.end(now);
  // A minute on their way at their slowest, in looks of a second; then nothing more moves.
  for (int i = 1; i <= 60; ++i) {
    now += seconds(1);
    EXPECT_LE(without.look(i < 60, seconds(i), now), seconds(1)) << i;
  }
  now += seconds(1);
  EXPECT_EQ(without.look(false, seconds(60), now), seconds(2));
}

TEST(WithoutAnswer, CountsTimeBeyondWhatBytesMayTake) {
  using std::chrono::seconds;
  client::WithoutAnswer without;
  auto now = base::Clock::now();
  without.end(now);
  std::chrono::milliseconds waited{};
  for (int i = 0; i <= 100; ++i) {
    now += seconds(1);
    waited = without.look(true, seconds(10), now);
  }
  EXPECT_EQ(waited, seconds(101 - 10));
  without.end(now);
  EXPECT_EQ(without.look(true, seconds(10), now + seconds(1)), seconds(1));
}

TEST_F(RemoteSilence, AServerWithMuchToDoIsWaitedFor) {
  start();
  connect_to(address());
  const Bytes file = photo();
  HeldEngine held(*engine_, 2);
  auto answer = submit(file);
  EXPECT_EQ(answer.wait_for(2 * kShortTime), std::future_status::timeout);
  held.release();
  const auto made = answer.get();
  EXPECT_TRUE(made) << made.error().to_string();
}

}  // namespace
}  // namespace framewire::service::remote::test
