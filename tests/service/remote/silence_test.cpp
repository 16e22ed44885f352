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
    remote_->drain();
    remote_->close();
    thread_.join();
  }
  void connect_to(const std::string& where, std::chrono::milliseconds patience = kShortTime) {
    remote_ = client::RemoteSession::connect({where, session(), small_client(), patience}).value();
    thread_ = std::thread([this] { remote_->receive(); });
  }
  std::future<Result<Resized>> submit(std::span<const std::uint8_t> jpeg) {
    auto answer = std::make_shared<std::promise<Result<Resized>>>();
    client::Order order;
    order.jpeg = jpeg;
    order.options = remote_->options().find(width(40));
    order.done = [answer](Result<Resized> made) { answer->set_value(std::move(made)); };
    remote_->submit({&order, 1}, true, {});
    return answer->get_future();
  }

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

TEST_F(RemoteSilence, SignsOfLifeWithoutAnAnswerHoldNobodyForEver) {
  auto listener = transport::Listener::listen(":0", session()).value();
  auto playing = std::async(std::launch::async, [&] {
    PlayedEnd server(listener.accept(20'000).value());
    ASSERT_TRUE(server.next());
    server.offer(PlayedEnd::welcome());
    ASSERT_TRUE(server.next());
    ipc::MessageHead head;
    head.type = ipc::MessageType::kDraining;
    while (!server.channel().lost()) {
      server.offer(PlayedEnd::make(head));
      const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      (void)server.until([&] { return std::chrono::steady_clock::now() > next; });
    }
  });
  connect_to(fmt::format(":{}", listener.port()), std::chrono::milliseconds(100));
  const Bytes file = photo();
  auto answer = submit(file);
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  const auto made = answer.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(made.error().message(), HasSubstr("answered nothing"));
  playing.get();
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
