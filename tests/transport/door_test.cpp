// What a listener grants to those who have come, and what it refuses them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <tests/support/no_descriptors.hpp>
#include <tests/transport/probe.hpp>
#include <tests/transport/strangers.hpp>
#include <thread>
#include <transport/channel.hpp>
#include <transport/session/failures.hpp>
#include <transport/session/greeting.hpp>
#include <transport/session/greetings.hpp>
#include <transport/session/handshakes.hpp>
#include <transport/session/listener.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>

namespace framewire::transport {
namespace {

using base::Clock;
using session::Failures;
using session::Handshakes;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::call;
using testing::first_words;
using ::testing::HasSubstr;
using testing::hung_up;
using testing::Manner;
using testing::send_to;
using testing::Strangers;

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

/// Looks again and again. @return false where it has not come to hold in a minute
bool comes_to_hold(const std::function<bool()>& condition) {
  const auto end = Clock::now() + seconds(60);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

constexpr const char* kDescriptors = "/proc/self/fd";
constexpr const char* kThreads = "/proc/self/task";

std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(AttackDoor, DescriptorsAreBounded) {
  const auto listener = listen(options());
  const auto before = entries_of(kDescriptors);
  std::vector<base::FileDescriptor> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(call(listener.port()));
  const auto last_call = Clock::now();
  // Who was displaced by the last one.
  const auto& displaced = strangers[strangers.size() - Handshakes::kMaxOfOne - 1];
  EXPECT_TRUE(comes_to_hold([&] { return hung_up(displaced); }));
  EXPECT_LE(entries_of(kDescriptors), before + strangers.size() + Handshakes::kMaxOfOne);
  // The newest are there, those who were there longest are not.
  EXPECT_TRUE(hung_up(strangers.front()));
  const bool newest_left = hung_up(strangers.back());
  EXPECT_TRUE(!newest_left || Clock::now() - last_call > seconds(1));
}

TEST_F(AttackDoor, TheSilentHaveTwoSeconds) {
  auto patient = options();
  patient.timeout_ms = 120'000;
  const auto listener = listen(patient);
  const auto start = Clock::now();
  const auto silent = call(listener.port());
  const auto talking = call(listener.port());
  send_to(talking, std::vector<std::byte>(1, std::byte{0x16}));
  EXPECT_TRUE(comes_to_hold([&] { return hung_up(silent); }));
  EXPECT_GE(Clock::now() - start, milliseconds(1900));
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
  EXPECT_TRUE(comes_to_hold([&] { return hung_up(slow); }));
  const auto told = listener.accept(60'000);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message(), HasSubstr("did not finish"));
}

// Nobody is lost, or waits for another's time-out, because nobody accepts just then.
TEST_F(AttackDoor, TheDoorIsOpenBetweenTwoCalls) {
  auto patient = options();
  patient.timeout_ms = 60'000;
  auto listener = listen(patient);
  std::vector<base::FileDescriptor> silent;
  // The machine may have other things to do for a while, and not every time.
  bool at_once = false;
  for (int i = 0; i < 10 && !at_once; ++i) {
    for (int k = 0; k < 20; ++k) silent.push_back(call(listener.port()));
    auto one = come(listener, patient);
    auto other = come(listener, patient);
    const auto end = Clock::now() + milliseconds(1500);
    at_once = one.wait_until(end) == std::future_status::ready &&
              other.wait_until(end) == std::future_status::ready;
    EXPECT_TRUE(listener.accept(60'000));
    EXPECT_TRUE(listener.accept(60'000));
    EXPECT_TRUE(one.get());
    EXPECT_TRUE(other.get());
  }
  EXPECT_TRUE(at_once);
}

// Connections that nobody takes are bounded too; the next is taken when one has been.
TEST_F(AttackDoor, OnlySoManyWaitToBeAccepted) {
  auto patient = options();
  patient.timeout_ms = 60'000;
  auto listener = listen(patient);
  std::vector<std::future<Result<session::Joined>>> clients;
  for (std::size_t i = 0; i < Handshakes::kMaxFinished; ++i) {
    clients.push_back(come(listener, patient));
    ASSERT_EQ(clients.back().wait_for(seconds(60)), std::future_status::ready);
  }
  auto one_more = come(listener, patient);
  EXPECT_EQ(one_more.wait_for(milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE(listener.accept(60'000));
  EXPECT_EQ(one_more.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_TRUE(one_more.get());
}

TEST_F(AttackDoor, AFloodOfFailuresIsToldAsAFew) {
  auto listener = listen(options());
  const std::vector<std::byte> noise(100, std::byte{0x55});
  const auto start = Clock::now();
  std::vector<base::FileDescriptor> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(call(listener.port()));
    send_to(strangers.back(), noise);
  }
  for (const auto& stranger : strangers) {
    ASSERT_TRUE(comes_to_hold([&] { return hung_up(stranger); }));
  }
  auto client = come(listener, options());
  std::vector<std::string> told;
  bool accepted = false;
  while (!accepted && told.size() < strangers.size()) {
    const auto next = listener.accept(60'000);
    accepted = next.has_value();
    if (!next) told.push_back(next.error().message());
  }
  EXPECT_TRUE(accepted);
  EXPECT_TRUE(client.get());
  const auto passed = std::chrono::ceil<seconds>(Clock::now() - start).count();
  EXPECT_LE(told.size(), Failures::kBurst + static_cast<std::size_t>(passed));
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.front(), HasSubstr("more connections came to nothing"));
}

// Peers with a key can hold threads, so many at most; in their way they give up theirs, and others'
// addresses are not touched.
TEST_F(AttackDoor, PeersWithAKeyWhoSayNothingHoldNobodyUpForLong) {
  auto server = options();
  server.timeout_ms = 120'000;
  const auto before = entries_of(kThreads);
  auto listener = listen(server);
  const auto context = wire::TlsContext::make(server.security, false);
  std::vector<std::unique_ptr<wire::ByteStream>> silent;
  for (std::size_t i = 0; i < 2 * session::Greetings::kMaxOfOne; ++i) {
    auto stream = context->shake_hands(call(listener.port()), "", Clock::now() + seconds(60));
    ASSERT_TRUE(stream) << stream.error().to_string();
    silent.push_back(std::move(*stream));
  }
  auto client = come(listener, server);
  EXPECT_EQ(client.wait_for(seconds(60)), std::future_status::ready);
  // The listener's own, the client's, and those of greetings.
  EXPECT_TRUE(comes_to_hold(
      [&] { return entries_of(kThreads) <= before + 2 + session::Greetings::kMaxOfOne; }));
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

// A shortage passes: busy, as where a connection is to be accepted.
TEST(TransportShortage, OfDescriptorsIsBusy) {
  const framewire::test::NoDescriptors none;
  const wire::Address address{"127.0.0.1", 0};
  const auto port = wire::listen_on(address);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code(), StatusCode::kBusy) << port.error().to_string();
  const auto socket = wire::connect_to(address, Clock::now() + seconds(1));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code(), StatusCode::kBusy) << socket.error().to_string();
}

// Without descriptors the listener neither spins nor ends.
TEST_F(AttackDoor, WithoutDescriptorsItWaits) {
  auto listener = listen(options());
  std::vector<base::FileDescriptor> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit none = usual;
  none.rlim_cur = static_cast<rlim_t>(strangers.back().get()) + 1;
  sockaddr_storage to{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(to);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(listener.port());
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const auto& stranger : strangers) {
    ::connect(stranger.get(), reinterpret_cast<sockaddr*>(&to), sizeof v4);
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

std::pair<base::FileDescriptor, base::FileDescriptor> two_ends() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

// The end of a listener cuts greetings, not connections that it has handed on, whose greeting's
// thread may still be there.
TEST_F(AttackDoor, AConnectionOutlivesItsListener) {
  SessionOptions plain;
  plain.security.insecure = true;
  plain.links = {kStreamLink};
  const auto deadline = Clock::now() + seconds(60);
  std::promise<session::Joined> handed_on;
  std::promise<void> all_cut;
  std::optional<session::Greetings> greetings;
  greetings.emplace(plain, [&](session::Greetings::Ended one) {
    if (!one.front()) return;  // the other one
    handed_on.set_value(std::move(*one.front()));
    all_cut.get_future().wait();
  });
  auto [server, client] = two_ends();
  auto coming = std::async(std::launch::async, [&, socket = std::move(client)]() mutable {
    return session::greet_as_client(wire::make_plain_stream(std::move(socket)), plain, deadline);
  });
  auto stream = wire::make_plain_stream(std::move(server));
  ASSERT_TRUE(greetings->start(stream, "one", deadline));
  auto near = handed_on.get_future().get();

  // What has begun later is cut later: when this one has been, the first would have been, too.
  auto [other_server, silent] = two_ends();
  stream = wire::make_plain_stream(std::move(other_server));
  EXPECT_TRUE(greetings->start(stream, "another", deadline));
  auto watch = std::async(std::launch::async, [&, fd = silent.get()] {
    EXPECT_TRUE(base::wait_for(fd, false, deadline));
    all_cut.set_value();
  });
  greetings.reset();
  watch.get();
  EXPECT_TRUE(hung_up(silent));

  auto far = coming.get();
  ASSERT_TRUE(far) << far.error().to_string();
  auto one = make_channel(std::move(near.link), std::move(near.config));
  auto other = make_channel(std::move(far->link), std::move(far->config));
  for (int i = 0; i < 20; ++i) {
    one.progress();
    other.progress();
  }
  EXPECT_FALSE(one.lost()) << one.lost()->to_string();
  EXPECT_FALSE(other.lost()) << other.lost()->to_string();
}

// Nor does it wait for those who hold a greeting, and go on holding it.
TEST_F(AttackDoor, TheListenerEndsInTheMidstOfIt) {
  auto server = options();
  server.timeout_ms = 120'000;
  const auto context = wire::TlsContext::make(server.security, false);
  Result<std::unique_ptr<wire::ByteStream>> held = nullptr;
  auto start = Clock::now();
  {
    const auto listener = listen(server);
    held = context->shake_hands(call(listener.port()), "", Clock::now() + seconds(60));
    ASSERT_TRUE(held) << held.error().to_string();
    Strangers strangers(listener.port(), Manner::kStopsAfterTheFirstWords, first_words(server));
    while (strangers.come() < 100) std::this_thread::sleep_for(milliseconds(1));
    start = Clock::now();
  }
  EXPECT_LT(Clock::now() - start, seconds(60));
}

}  // namespace
}  // namespace framewire::transport
