// Peers with a key that send records by which nothing comes keep no thread of ours.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <tests/transport/key_updates.hpp>
#include <tests/transport/probe.hpp>
#include <tests/transport/strangers.hpp>
#include <transport/wire/tls.hpp>

namespace framewire::transport {
namespace {

using ::testing::HasSubstr;
using testing::KeyUpdater;

// What a socket holds of them and more than anybody sends without a reason.
constexpr int kUpdates = 2'000;

class AttackKeyUpdate : public testing::Probe {
 protected:
  /// Joins our stream with the peer's end.
  void join(bool ours_is_server = true) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto far = std::async(std::launch::async,
                          [socket = base::FileDescriptor(ends[1]), ours_is_server]() mutable {
                            return std::make_unique<KeyUpdater>(std::move(socket), !ours_is_server);
                          });
    ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    const auto context = wire::TlsContext::make(key(write("keys", testing::kKeys)), ours_is_server);
    ASSERT_TRUE(context) << context.error().to_string();
    auto stream = context->shake_hands(base::FileDescriptor(ends[0]), "",
                                       base::Clock::now() + std::chrono::seconds(60));
    far_ = far.get();
    ASSERT_TRUE(stream) << stream.error().to_string();
    stream_ = std::move(*stream);
  }
  [[nodiscard]] Result<std::size_t> read() {
    std::array<std::byte, 16> bytes;
    return stream_->read(bytes);
  }

  std::unique_ptr<KeyUpdater> far_;
  std::unique_ptr<wire::ByteStream> stream_;
};

TEST_F(AttackKeyUpdate, AReadTakesOneRecordAtATime) {
  join();
  for (int round = 0; round < 10; ++round) {
    far_->update_keys(20);
    far_->say(std::array<std::byte, 3>{});
    ASSERT_TRUE(far_->good());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(read(), 0u) << i;
    EXPECT_EQ(read(), 3u);
  }
}

TEST_F(AttackKeyUpdate, TooManyInARowEndTheConnection) {
  join();
  far_->update_keys(100);  // which the socket holds
  for (int i = 0; i < 32; ++i) ASSERT_EQ(read(), 0u) << i;
  auto last = read();
  if (last) last = read();
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(last.error().message(), HasSubstr("bring nothing"));
}

// Tickets change no key, so that what reads records stays the same.
TEST_F(AttackKeyUpdate, TooManyTicketsInARowEndTheConnection) {
  join(false);
  far_->send_tickets(100);
  ASSERT_TRUE(far_->good());
  Result<std::size_t> last = 0u;
  int reads = 0;
  for (; reads < 200 && last && *last == 0; ++reads) last = read();
  ASSERT_FALSE(last) << reads;
  EXPECT_EQ(last.error().code(), StatusCode::kPeerLost);
  EXPECT_THAT(last.error().message(), HasSubstr("bring nothing"));
  EXPECT_LT(reads, 40);
}

TEST_F(AttackKeyUpdate, AGreetingEndsLongBeforeItsTimeIsOver) {
  auto options = with(key(write("keys", testing::kKeys)));
  options.timeout_ms = 20'000;
  auto listener = Listener::listen("127.0.0.1:0", options);
  ASSERT_TRUE(listener) << listener.error().to_string();
  auto socket = testing::call(listener->port());
  ASSERT_EQ(::fcntl(socket.get(), F_SETFL, 0), 0);
  KeyUpdater client(std::move(socket), false);
  client.update_keys(kUpdates);
  const auto accepted = listener->accept(60'000);
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().code(), StatusCode::kPeerLost) << accepted.error().to_string();
  EXPECT_THAT(accepted.error().message(), HasSubstr("bring nothing"));
  client.await_end();
}

}  // namespace
}  // namespace framewire::transport
