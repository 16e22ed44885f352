// Crowds at the door: whoever has a key comes in, however many others stand there.
#include "transport/session/listener.hpp"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>
#include "transport/connections.hpp"
#include "transport/probe.hpp"
#include "transport/session/crowd.hpp"
#include "transport/session/failures.hpp"
#include "transport/session/handshakes.hpp"
#include "transport/wire/control.hpp"
#include "transport/wire/socket.hpp"
#include "transport/wire/tls.hpp"

namespace framewire::transport {
namespace {

using base::Clock;
using session::Crowd;
using session::Failures;
using session::Handshakes;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

wire::Socket call(std::uint16_t port) {
  auto socket = wire::connect_to({"127.0.0.1", port}, Clock::now() + seconds(5));
  return socket ? std::move(*socket) : wire::Socket();
}

void send_to(const wire::Socket& socket, std::span<const std::byte> bytes) {
  static_cast<void>(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

bool hung_up(const wire::Socket& socket) {
  char byte = 0;
  const auto count = ::recv(socket.fd(), &byte, 1, 0);
  return count == 0 || (count < 0 && errno != EAGAIN);
}

// What a client says first.
std::vector<std::byte> first_words(const SessionOptions& options) {
  if (options.security.insecure) {
    wire::Greeting greeting;
    greeting.capacity = 1;
    greeting.links = {{kStreamLink, {}}};
    const auto body = wire::encode(greeting);
    std::vector<std::byte> words(wire::kFrameHeadBytes);
    wire::encode({wire::FrameType::kHello, static_cast<std::uint32_t>(body.size()), 0},
                 std::span<std::byte, wire::kFrameHeadBytes>(words.data(), words.size()));
    words.insert(words.end(), body.begin(), body.end());
    return words;
  }
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const wire::Socket far(ends[1]);
  const auto context = wire::TlsContext::make(options.security, false);
  auto handshake = context->begin(wire::Socket(ends[0]), "");
  EXPECT_TRUE(handshake->step());
  std::vector<std::byte> words(4096);
  const auto count = ::recv(far.fd(), words.data(), words.size(), 0);
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return words;
}

// What each of a crowd does.
enum class Manner { kSilent, kByteAtATime, kStopsAtTheLastByte, kStopsAfterTheFirstWords };

// Strangers who come and go, some hundreds at a time.
class Strangers {
 public:
  Strangers(std::uint16_t port, Manner manner, std::vector<std::byte> words)
      : port_(port), manner_(manner), words_(std::move(words)), thread_([this] { run(); }) {}
  ~Strangers() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] int come() const { return come_; }

 private:
  struct Stranger {
    wire::Socket socket;
    std::size_t said = 0;
  };
  void run() {
    constexpr std::size_t kAtATime = 250;
    while (!stop_) {
      Stranger stranger{call(port_), 0};
      ++come_;
      speak(stranger);
      there_.push_back(std::move(stranger));
      if (there_.size() > kAtATime) there_.pop_front();
      if (manner_ == Manner::kByteAtATime) {
        for (Stranger& other : there_) speak(other);
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  void speak(Stranger& stranger) const {
    const std::span<const std::byte> words(words_);
    if (manner_ == Manner::kByteAtATime && stranger.said + 1 < words.size()) {
      send_to(stranger.socket, words.subspan(stranger.said++, 1));
    }
    if (manner_ == Manner::kStopsAtTheLastByte) {
      send_to(stranger.socket, words.first(words.size() - 1));
    }
    if (manner_ == Manner::kStopsAfterTheFirstWords) send_to(stranger.socket, words);
  }

  std::uint16_t port_;
  Manner manner_;
  std::vector<std::byte> words_;
  std::deque<Stranger> there_;
  std::atomic<int> come_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Whoever comes through the listener, failures left out. @return how many failures there were
template <typename AnyListener, typename Use>
int accept_until(AnyListener& listener, Use use) {
  for (int failures = 0; failures < 2000; ++failures) {
    auto accepted = listener.accept(5000);
    if (accepted) {
      use(std::move(*accepted));
      return failures;
    }
  }
  return -1;
}

// A client with a key comes in within a second, time after time, while a thousand come and go.
template <typename Greet>
void expect_welcome(session::Listener& listener, Strangers& strangers, Greet greet) {
  while (strangers.come() < 300) std::this_thread::sleep_for(milliseconds(1));
  for (int round = 0; round < 8 || strangers.come() < 1000; ++round) {
    const auto start = Clock::now();
    auto connecting = std::async(std::launch::async, greet);
    std::optional<session::Joined> near;
    EXPECT_GE(accept_until(listener, [&](auto joined) { near.emplace(std::move(joined)); }), 0);
    const auto far = connecting.get();
    EXPECT_TRUE(far) << far.error().to_string();
    EXPECT_LT(Clock::now() - start, seconds(1)) << "in round " << round;
    if (::testing::Test::HasFailure()) return;
    std::this_thread::sleep_for(milliseconds(50));
  }
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

class AttackDoor : public testing::Probe {
 protected:
  AttackDoor() : options_(with(key(write("keys", testing::kKeys)))) {}
  [[nodiscard]] SessionOptions options() const { return options_; }
  static session::Listener listen(const SessionOptions& options) {
    auto listener = session::Listener::listen("127.0.0.1:0", options);
    EXPECT_TRUE(listener) << listener.error().to_string();
    return std::move(*listener);
  }
  static std::future<Result<session::Joined>> come(const session::Listener& listener,
                                                   const SessionOptions& options) {
    return std::async(std::launch::async, [address = fmt::format("127.0.0.1:{}", listener.port()),
                                           options] { return session::connect(address, options); });
  }

 private:
  SessionOptions options_;
};

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(AttackDoor, DescriptorsAreBounded) {
  const auto listener = listen(options());
  const auto before = descriptors();
  std::vector<wire::Socket> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(call(listener.port()));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LE(descriptors(), before + strangers.size() + Handshakes::kMaxOfOne);
  // The newest are there, those who were there longest are not.
  EXPECT_TRUE(hung_up(strangers.front()));
  EXPECT_FALSE(hung_up(strangers.back()));
}

TEST_F(AttackDoor, TheSilentHaveTwoSeconds) {
  auto patient = options();
  patient.timeout_ms = 30'000;
  const auto listener = listen(patient);
  const auto silent = call(listener.port());
  const auto talking = call(listener.port());
  send_to(talking, std::vector<std::byte>(1, std::byte{0x16}));
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_FALSE(hung_up(silent));
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_TRUE(hung_up(silent));
  EXPECT_FALSE(hung_up(talking));
}

TEST_F(AttackDoor, TheWholeGreetingHasItsTime) {
  auto brief = options();
  brief.timeout_ms = 500;
  auto listener = listen(brief);
  const auto slow = call(listener.port());
  const auto words = first_words(brief);
  for (int i = 0; i < 15 && !hung_up(slow); ++i) {
    send_to(slow, std::span(words).subspan(static_cast<std::size_t>(i), 1));
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(hung_up(slow));
  const auto told = listener.accept(0);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("did not finish"));
}

// Nobody is lost, or waits for another's time-out, because nobody accepts just then.
TEST_F(AttackDoor, TheDoorIsOpenBetweenTwoCalls) {
  auto listener = listen(options());
  std::vector<wire::Socket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(call(listener.port()));
  auto one = come(listener, options());
  auto other = come(listener, options());
  EXPECT_EQ(one.wait_for(seconds(2)), std::future_status::ready);
  EXPECT_EQ(other.wait_for(seconds(2)), std::future_status::ready);
  EXPECT_TRUE(listener.accept(1000));
  EXPECT_TRUE(listener.accept(1000));
  EXPECT_TRUE(one.get());
  EXPECT_TRUE(other.get());
}

// Connections that nobody takes are bounded too; the next is taken when one has been.
TEST_F(AttackDoor, OnlySoManyWaitToBeAccepted) {
  auto listener = listen(options());
  std::vector<std::future<Result<session::Joined>>> clients;
  for (std::size_t i = 0; i < Handshakes::kMaxFinished; ++i) {
    clients.push_back(come(listener, options()));
    ASSERT_EQ(clients.back().wait_for(seconds(2)), std::future_status::ready);
  }
  auto one_more = come(listener, options());
  EXPECT_EQ(one_more.wait_for(milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE(listener.accept(1000));
  EXPECT_EQ(one_more.wait_for(seconds(2)), std::future_status::ready);
  EXPECT_TRUE(one_more.get());
}

TEST_F(AttackDoor, AFloodOfFailuresIsToldAsAFew) {
  auto listener = listen(options());
  const std::vector<std::byte> noise(100, std::byte{0x55});
  std::vector<wire::Socket> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(call(listener.port()));
    send_to(strangers.back(), noise);
  }
  std::this_thread::sleep_for(milliseconds(200));
  const auto start = Clock::now();
  auto client = come(listener, options());
  std::vector<std::string> told;
  bool accepted = false;
  while (!accepted && Clock::now() - start < seconds(1)) {
    const auto next = listener.accept(1000);
    accepted = next.has_value();
    if (!next) told.push_back(next.error().message());
  }
  EXPECT_TRUE(accepted);
  EXPECT_TRUE(client.get());
  EXPECT_LE(told.size(), Failures::kBurst + 1);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.front(), HasSubstr("more connections came to nothing"));
}

// Peers with a key can hold threads; in their way they give up theirs, and others' addresses are
// not touched.
TEST_F(AttackDoor, PeersWithAKeyWhoSayNothingHoldNobodyUpForLong) {
  auto server = options();
  server.timeout_ms = 20'000;
  auto listener = listen(server);
  const auto context = wire::TlsContext::make(server.security, false);
  std::vector<std::unique_ptr<wire::Stream>> silent;
  for (std::size_t i = 0; i < 2 * session::Greetings::kMaxOfOne; ++i) {
    auto stream = context->shake_hands(call(listener.port()), "", Clock::now() + seconds(5));
    ASSERT_TRUE(stream) << stream.error().to_string();
    silent.push_back(std::move(*stream));
  }
  auto client = come(listener, server);
  EXPECT_EQ(client.wait_for(seconds(4)), std::future_status::ready);
  EXPECT_TRUE(client.get());
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Without descriptors the listener neither spins nor ends.
TEST_F(AttackDoor, WithoutDescriptorsItWaits) {
  auto listener = listen(options());
  std::vector<wire::Socket> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit none = usual;
  none.rlim_cur = static_cast<rlim_t>(strangers.back().fd()) + 1;
  sockaddr_storage to{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(to);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(listener.port());
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const auto& stranger : strangers) {
    ::connect(stranger.fd(), reinterpret_cast<sockaddr*>(&to), sizeof v4);
  }
  const double before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(500));
  const double spent = cpu_seconds() - before;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_LT(spent, 0.1);
  auto client = come(listener, options());
  std::vector<std::string> told;
  bool accepted = false;
  for (int i = 0; i < 20 && !accepted; ++i) {
    const auto next = listener.accept(1000);
    accepted = next.has_value();
    if (!next) told.push_back(next.error().to_string());
  }
  EXPECT_TRUE(accepted);
  EXPECT_TRUE(client.get());
  EXPECT_THAT(told, ::testing::Contains(HasSubstr("busy: cannot accept a connection")));
}

TEST_F(AttackDoor, TheListenerEndsInTheMidstOfIt) {
  auto server = options();
  server.timeout_ms = 20'000;
  const auto context = wire::TlsContext::make(server.security, false);
  const auto start = Clock::now();
  {
    const auto listener = listen(server);
    Strangers strangers(listener.port(), Manner::kStopsAfterTheFirstWords, first_words(server));
    auto held = context->shake_hands(call(listener.port()), "", Clock::now() + seconds(5));
    while (strangers.come() < 100) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LT(Clock::now() - start, seconds(5));
}

TEST(AttackCrowd, DisplacesItsOwn) {
  Crowd crowd(6, 4);
  std::uint64_t number = 10;
  for (int i = 0; i < 4; ++i) crowd.add(number++, "many");
  EXPECT_EQ(crowd.displaced_by("many"), 10U);  // has its fill, though there is room
  EXPECT_EQ(crowd.displaced_by("one"), std::nullopt);
  crowd.add(number++, "one");
  crowd.add(number++, "another");
  EXPECT_EQ(crowd.displaced_by("one"), 10U);  // no room: the oldest of those who are most
  EXPECT_EQ(crowd.displaced_by("a third"), 10U);
  crowd.remove(10, "many");
  crowd.remove(10, "many");
  EXPECT_EQ(crowd.size(), 5U);
  EXPECT_EQ(crowd.displaced_by("many"), std::nullopt);
}

TEST(AttackCrowd, OfEquallyManyTheOldestGoes) {
  Crowd crowd(3, 2);
  crowd.add(7, "b");
  crowd.add(5, "c");
  crowd.add(6, "a");
  EXPECT_EQ(crowd.displaced_by("d"), 5U);
}

TEST(AttackFailures, AreAFewAndANumber) {
  Failures failures;
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) failures.add({StatusCode::kDenied, "no"}, start);
  failures.count();
  int told = 0;
  std::string first;
  while (const auto status = failures.take()) {
    if (told++ == 0) first = status->message();
  }
  EXPECT_EQ(told, static_cast<int>(Failures::kBurst));
  EXPECT_EQ(first, "no (and 93 more connections came to nothing)");
  failures.add({StatusCode::kDenied, "no"}, start + milliseconds(500));
  EXPECT_TRUE(failures.empty());
  failures.add({StatusCode::kDenied, "no"}, start + milliseconds(1100));
  EXPECT_EQ(failures.take()->message(), "no (and 1 more connections came to nothing)");
}

}  // namespace
}  // namespace framewire::transport
