#include <gtest/gtest.h>
#include <sys/socket.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <cerrno>
#include <chrono>
#include <tests/transport/strangers.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>
#include <utility>

namespace framewire::transport::testing {

using base::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Between two strangers. A host slowed by a sanitizer is asked no more than it can do.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr milliseconds kBetween{10};
#else
constexpr milliseconds kBetween{1};
#endif

}  // namespace

base::FileDescriptor call(std::uint16_t port) {
  auto socket = wire::connect_to({"127.0.0.1", port}, Clock::now() + seconds(60));
  return socket ? std::move(*socket) : base::FileDescriptor();
}

void send_to(const base::FileDescriptor& socket, std::span<const std::byte> bytes) {
  static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

bool hung_up(const base::FileDescriptor& socket) {
  char byte = 0;
  const auto count = ::recv(socket.get(), &byte, 1, 0);
  return count == 0 || (count < 0 && errno != EAGAIN);
}

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
  const base::FileDescriptor far(ends[1]);
  const auto context = wire::TlsContext::make(options.security, false);
  auto handshake = context->begin(base::FileDescriptor(ends[0]), "");
  EXPECT_TRUE(handshake->step());
  std::vector<std::byte> words(4096);
  const auto count = ::recv(far.get(), words.data(), words.size(), 0);
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return words;
}

Strangers::Strangers(std::uint16_t port, Manner manner, std::vector<std::byte> words)
    : port_(port), manner_(manner), words_(std::move(words)), thread_([this] { run(); }) {}

Strangers::~Strangers() {
  stop_ = true;
  thread_.join();
}

void Strangers::run() {
  constexpr std::size_t kAtATime = 250;
  while (!stop_) {
    Stranger stranger{call(port_), 0};
    ++come_;
    speak(stranger);
    (come_ % 100 == 1 ? stay_ : there_).push_back(std::move(stranger));
    if (there_.size() > kAtATime) there_.pop_front();
    if (manner_ == Manner::kByteAtATime) {
      for (Stranger& other : there_) speak(other);
    }
    std::this_thread::sleep_for(kBetween);
  }
}
void Strangers::speak(Stranger& stranger) const {
  const std::span<const std::byte> words(words_);
  if (manner_ == Manner::kByteAtATime && stranger.said + 1 < words.size()) {
    send_to(stranger.socket, words.subspan(stranger.said++, 1));
  }
  if (manner_ == Manner::kStopsAtTheLastByte) {
    send_to(stranger.socket, words.first(words.size() - 1));
  }
  if (manner_ == Manner::kStopsAfterTheFirstWords) send_to(stranger.socket, words);
}

}  // namespace framewire::transport::testing
