// Crowds at the door, over every link: whoever has a key comes in, however many others stand there.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <tests/transport/connections.hpp>
#include <tests/transport/strangers.hpp>
#include <thread>
#include <transport/session/listener.hpp>

namespace framewire::transport {
namespace {

using base::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::first_words;
using testing::Manner;
using testing::Strangers;

// Whoever comes through the listener, failures left out; nobody where it takes too long.
std::optional<session::Joined> accept_one(session::Listener& listener) {
  const auto deadline = Clock::now() + seconds(60);
  while (Clock::now() < deadline) {
    if (auto accepted = listener.accept(1000)) return std::move(*accepted);
  }
  return std::nullopt;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Several times slower, and the crowd is not.
constexpr seconds kSoon{10};
constexpr int kRounds = 2;
constexpr int kCrowd = 100;
#else
constexpr seconds kSoon{8};
constexpr int kRounds = 8;
constexpr int kCrowd = 1000;
#endif

// A client with a key comes in, time after time, while a thousand come and go, and half of the
// times before anybody's greeting could have run out of time; a machine may be busy.
template <typename Greet>
void expect_welcome(session::Listener& listener, Strangers& strangers, Greet greet) {
  while (strangers.come() < kCrowd / 3) std::this_thread::sleep_for(milliseconds(1));
  std::vector<Clock::duration> times;
  for (int round = 0; round < kRounds || strangers.come() < kCrowd; ++round) {
    const auto start = Clock::now();
    auto connecting = std::async(std::launch::async, greet);
    const auto near = accept_one(listener);
    const auto far = connecting.get();
    ASSERT_TRUE(far) << far.error().to_string();
    ASSERT_TRUE(near);
    times.push_back(Clock::now() - start);
    std::this_thread::sleep_for(milliseconds(50));
  }
  std::ranges::sort(times);
  EXPECT_LT(times[(times.size() - 1) / 2], kSoon);
}

// Every way to a connection that begins at a port.
std::vector<std::string> links() {
  std::vector<std::string> names;
  for (const std::string& name : testing::connection_names()) {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("loopback") || has("card") || has("apart") || has("near") || has("far") ||
        has("rdma") || (has("_gpus") && !has("peer"))) {
      continue;
    }
    names.push_back(name);
  }
  return names;
}

class AttackListener : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_welcome_among(Manner manner) {
    const auto server = testing::opening_of(GetParam(), true).options;
    const auto client = testing::opening_of(GetParam(), false).options;
    auto listener = session::Listener::listen("127.0.0.1:0", server);
    ASSERT_TRUE(listener) << listener.error().to_string();
    const std::string address = fmt::format("127.0.0.1:{}", listener->port());
    Strangers strangers(listener->port(), manner, first_words(client));
    expect_welcome(*listener, strangers, [&] { return session::connect(address, client); });
  }
};

TEST_P(AttackListener, AThousandWhoSayNothing) { expect_welcome_among(Manner::kSilent); }
TEST_P(AttackListener, AThousandWhoSayAByteAtATime) { expect_welcome_among(Manner::kByteAtATime); }
TEST_P(AttackListener, AThousandWhoKeepTheLastByte) {
  expect_welcome_among(Manner::kStopsAtTheLastByte);
}
TEST_P(AttackListener, AThousandWhoStopAfterTheirFirstWords) {
  // Without keys, first words are all that anybody has.
  if (testing::opening_of(GetParam(), true).options.security.insecure) GTEST_SKIP();
  expect_welcome_among(Manner::kStopsAfterTheFirstWords);
}

INSTANTIATE_TEST_SUITE_P(Links, AttackListener, ::testing::ValuesIn(links()),
                         [](const auto& made) { return made.param; });

}  // namespace
}  // namespace framewire::transport
