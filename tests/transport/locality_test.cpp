// Being a process of the same user on the same machine is proved, never said: what peers get that
// claim it, on either side of the control connection.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <base/wait_for.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tests/transport/connections.hpp>
#include <transport/session/meeting.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>
#include <vector>
#ifdef FRAMEWIRE_HAS_UCX
#include <transport/ucx/context.hpp>
#endif

namespace framewire::transport::testing {
namespace {

using base::FileDescriptor;
using session::MeetingPoint;
using shared::LocalPeer;
using ::testing::HasSubstr;
using ::testing::Not;
using wire::FrameType;
using wire::Greeting;

base::Clock::time_point deadline_in(int ms = 20'000) {
  return base::Clock::now() + std::chrono::milliseconds(ms);
}

// One end of a control connection, spoken by hand.
class RawEnd {
 public:
  explicit RawEnd(std::unique_ptr<wire::ByteStream> stream) : stream_(std::move(stream)) {}
  static RawEnd dial(std::uint16_t port, const SessionOptions& options) {
    auto socket = wire::connect_to({"127.0.0.1", port}, deadline_in());
    if (!socket) throw std::runtime_error(socket.error().to_string());
    if (options.security.insecure) return RawEnd(wire::make_plain_stream(std::move(*socket)));
    const auto context = wire::TlsContext::make(options.security, false).value();
    return RawEnd(context.shake_hands(std::move(*socket), "127.0.0.1", deadline_in()).value());
  }
  void say(FrameType type, const std::vector<std::byte>& body) {
    EXPECT_TRUE(wire::write_frame(*stream_, type, body, deadline_in()));
  }
  // A greeting that offers links within the host first.
  void greet(FrameType type, const std::vector<std::string>& links) {
    Greeting greeting;
    greeting.epoch = 5;
    greeting.capacity = 16;
    for (const auto& name : links) greeting.links.push_back({name, std::vector<std::byte>(16)});
    say(type, encode(greeting));
  }
  wire::Frame hear() {
    auto frame = wire::read_frame(*stream_, deadline_in());
    EXPECT_TRUE(frame) << frame.error().to_string();
    return frame ? *frame : wire::Frame{};
  }
  std::string hear_choice() {
    const auto frame = hear();
    if (frame.type == FrameType::kRefuse) {
      return wire::decode_refusal(frame.body).to_string();
    }
    const auto greeting = wire::decode_greeting(frame.body);
    return greeting && greeting->links.size() == 1 ? greeting->links[0].name : "no greeting";
  }
  wire::Rendezvous hear_rendezvous() {
    const auto frame = hear();
    EXPECT_EQ(frame.type, FrameType::kMeet);
    const auto rendezvous = wire::decode_rendezvous(frame.body);
    EXPECT_TRUE(rendezvous);
    return rendezvous ? *rendezvous : wire::Rendezvous{};
  }

 private:
  std::unique_ptr<wire::ByteStream> stream_;
};

LocalPeer knock(const wire::Rendezvous& rendezvous) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience{20, 0};  // where nobody opens any more
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const auto name = session::name_of(rendezvous);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0) {
    throw std::runtime_error("no meeting place");
  }
  return LocalPeer(std::move(socket));
}

FileDescriptor occupy(const wire::Rendezvous& rendezvous) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto name = session::name_of(rendezvous);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes), 0);
  EXPECT_EQ(::listen(socket.get(), 8), 0);
  return socket;
}

wire::Rendezvous some_rendezvous() {
  static unsigned char next = 0;
  wire::Rendezvous rendezvous;
  const auto process = static_cast<std::uint32_t>(::getpid());
  std::memcpy(rendezvous.place.data(), &process, sizeof process);
  rendezvous.place[8] = static_cast<std::byte>(++next);
  rendezvous.client_token.fill(std::byte{0x11});
  rendezvous.server_token.fill(std::byte{0x22});
  return rendezvous;
}

// A server of ours, and a peer that speaks by hand; the parameter is how they are secured.
class LocalityAttack : public ::testing::TestWithParam<std::string> {
 protected:
  SessionOptions options(const std::vector<std::string>& links) {
    auto options = opening_of(GetParam(), true).options;
    options.links = links;
    options.timeout_ms = timeout_ms_;
    return options;
  }
  void serve(const std::vector<std::string>& links) {
    listener_ = std::make_unique<Listener>(Listener::listen("localhost:0", options(links)).value());
    accepted_ = std::async(std::launch::async, [this] { return listener_->accept(60'000); });
    peer_.emplace(RawEnd::dial(listener_->port(), options({})));
  }
  // A client of ours, and a server that speaks by hand.
  void dial(const std::vector<std::string>& links) {
    auto socket = wire::listen_on({"127.0.0.1", 0}).value();
    const auto address = fmt::format("127.0.0.1:{}", wire::port_of(socket));
    accepted_ = std::async(std::launch::async,
                           [this, address, links] { return connect(address, options(links)); });
    EXPECT_TRUE(base::wait_for(socket.get(), false, deadline_in()));
    auto came = std::move(wire::accept_next(socket).value().value().socket);
    if (options({}).security.insecure) {
      peer_.emplace(wire::make_plain_stream(std::move(came)));
    } else {
      const auto context = wire::TlsContext::make(options({}).security, true).value();
      peer_.emplace(context.shake_hands(std::move(came), "", deadline_in()).value());
    }
    EXPECT_EQ(peer_->hear().type, FrameType::kHello);
  }
  Result<Channel> outcome() { return accepted_.get(); }

  int timeout_ms_ = 20'000;
  std::unique_ptr<Listener> listener_;
  std::optional<RawEnd> peer_;
  std::future<Result<Channel>> accepted_;
};

TEST_P(LocalityAttack, AClaimGetsNoMoreThanTheStream) {
  serve({});
  peer_->greet(FrameType::kHello, {kPeerLink, kSharedLink, kStreamLink});
  peer_->hear_rendezvous();
  peer_->say(FrameType::kMet, wire::encode_met(true));
  EXPECT_EQ(peer_->hear_choice(), kStreamLink);
  const auto channel = outcome();
  ASSERT_TRUE(channel);
  EXPECT_THAT(channel->path().name, Not(HasSubstr("shared")));
}

TEST_P(LocalityAttack, AClaimGetsNothingWhereSharedMemoryIsAskedFor) {
  serve({kSharedLink});
  peer_->greet(FrameType::kHello, {kSharedLink, kStreamLink});
  peer_->hear_rendezvous();
  peer_->say(FrameType::kMet, wire::encode_met(true));
  EXPECT_THAT(peer_->hear_choice(), HasSubstr("unsupported: the peer refused: shared is for"));
  EXPECT_EQ(outcome().error().code(), StatusCode::kUnsupported);
}

// What was said on one connection proves nothing on another.
TEST_P(LocalityAttack, AReplayedRendezvousIsWorthNothing) {
  serve({});
  peer_->greet(FrameType::kHello, {kSharedLink, kStreamLink});
  const auto old = peer_->hear_rendezvous();
  peer_->say(FrameType::kMet, wire::encode_met(false));
  EXPECT_EQ(peer_->hear_choice(), kStreamLink);
  EXPECT_TRUE(outcome());
  serve({});
  peer_->greet(FrameType::kHello, {kSharedLink, kStreamLink});
  auto mixed = peer_->hear_rendezvous();
  EXPECT_NE(old.place, mixed.place);
  EXPECT_NE(old.client_token, mixed.client_token);
  EXPECT_NE(old.server_token, mixed.server_token);
  EXPECT_THROW(knock(old), std::runtime_error);
  const LocalPeer visitor = knock(mixed);
  EXPECT_TRUE(visitor.send(old.client_token));
  std::array<std::byte, 16> shown;
  EXPECT_FALSE(visitor.receive(shown, deadline_in(1000)));
  peer_->say(FrameType::kMet, wire::encode_met(true));
  EXPECT_EQ(peer_->hear_choice(), kStreamLink);
  EXPECT_TRUE(outcome());
}

TEST_P(LocalityAttack, AServersChoiceWithoutAMeetingIsDenied) {
  dial({});
  peer_->greet(FrameType::kWelcome, {kSharedLink});
  EXPECT_EQ(outcome().error().code(), StatusCode::kDenied);
  // Nor after one at which nobody was.
  dial({});
  peer_->say(FrameType::kMeet, encode(some_rendezvous()));
  const auto answer = peer_->hear();
  EXPECT_EQ(answer.type, FrameType::kMet);
  EXPECT_FALSE(wire::decode_met(answer.body).value());
  peer_->greet(FrameType::kWelcome, {kSharedLink});
  EXPECT_EQ(outcome().error().code(), StatusCode::kDenied);
}

// Somebody waits at the place who does not know what the server said, or says nothing at all.
TEST_P(LocalityAttack, AnImpostorAtTheMeetingPlaceIsNoServer) {
  for (const bool silent : {false, true}) {
    SCOPED_TRACE(silent);
    dial({});
    const auto rendezvous = some_rendezvous();
    const FileDescriptor place = occupy(rendezvous);
    const auto start = base::Clock::now();
    peer_->say(FrameType::kMeet, encode(rendezvous));
    const LocalPeer visitor{FileDescriptor(::accept4(place.get(), nullptr, nullptr, SOCK_CLOEXEC))};
    std::array<std::byte, 16> shown;
    EXPECT_TRUE(visitor.receive(shown, deadline_in()));
    EXPECT_EQ(shown, rendezvous.client_token);
    if (!silent) {
      EXPECT_TRUE(visitor.send(shown));  // all that it has heard
    }
    const auto answer = peer_->hear();
    EXPECT_FALSE(wire::decode_met(answer.body).value());
    EXPECT_LT(base::elapsed_us(start), 15e6);
    peer_->greet(FrameType::kWelcome, {kStreamLink});
    EXPECT_TRUE(outcome());
  }
}

// A path in the place of bits: the client makes names of its own, and none of them is a file's.
TEST_P(LocalityAttack, APathIsNoMeetingPlace) {
  const std::string path = fmt::format("/tmp/framewire-path-{}", ::getpid());
  const FileDescriptor listener(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ::unlink(path.c_str());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  std::vector<std::byte> named(path.size());
  std::memcpy(named.data(), path.data(), path.size());
  for (const std::size_t size : {named.size(), std::size_t{48}, std::size_t{32 + path.size()}}) {
    dial({});
    auto body = named;
    body.resize(size);
    peer_->say(FrameType::kMeet, body);
    if (size == 48) {
      EXPECT_FALSE(wire::decode_met(peer_->hear().body).value());
      peer_->greet(FrameType::kWelcome, {kStreamLink});
      EXPECT_TRUE(outcome());
    } else {
      EXPECT_EQ(outcome().error().code(), StatusCode::kInvalidInput);
    }
    EXPECT_LT(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), 0);
  }
  ::unlink(path.c_str());
}

TEST_P(LocalityAttack, FramesOutOfTurnEndTheGreeting) {
  dial({kStreamLink});  // has nothing to meet for
  peer_->say(FrameType::kMeet, encode(some_rendezvous()));
  EXPECT_EQ(outcome().error().code(), StatusCode::kInvalidInput);
  dial({});
  for (int i = 0; i < 2; ++i) peer_->say(FrameType::kMeet, encode(some_rendezvous()));
  EXPECT_EQ(outcome().error().code(), StatusCode::kInvalidInput);
  serve({});
  peer_->greet(FrameType::kHello, {kSharedLink, kStreamLink});
  peer_->hear_rendezvous();
  peer_->greet(FrameType::kHello, {kStreamLink});
  EXPECT_EQ(outcome().error().code(), StatusCode::kInvalidInput);
}

// Silent after the invitation, and after the meeting: no longer than the handshake may take.
TEST_P(LocalityAttack, SilenceCostsNoMoreThanTheHandshakesTime) {
  timeout_ms_ = 3000;
  for (const bool comes : {false, true}) {
    SCOPED_TRACE(comes);
    serve({});
    const auto start = base::Clock::now();
    peer_->greet(FrameType::kHello, {kSharedLink, kStreamLink});
    const auto rendezvous = peer_->hear_rendezvous();
    std::optional<LocalPeer> visitor;
    if (comes) {
      visitor = session::meet(rendezvous, deadline_in()).value();
      peer_->say(FrameType::kMet, wire::encode_met(true));
      EXPECT_EQ(peer_->hear_choice(), kSharedLink);
    }
    EXPECT_EQ(outcome().error().code(), StatusCode::kDeadline);
    EXPECT_LT(base::elapsed_us(start), 30e6);
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, LocalityAttack, ::testing::Values("tcp", "tls"),
                         [](const auto& wire) { return wire.param; });

// The meeting place by itself, in one process.
class MeetingAttack : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    control_ = wire::make_plain_stream(FileDescriptor(ends[0]));
    far_ = FileDescriptor(ends[1]);
  }
  // Runs in a process of the user nobody's. @return its exit status
  static int as_nobody(const std::function<bool()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool changed = ::setgid(65534) == 0 && ::setuid(65534) == 0;
      ::_exit(changed && work() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  MeetingPoint point_ = MeetingPoint::open().value();
  std::unique_ptr<wire::ByteStream> control_;
  FileDescriptor far_;
};

TEST_F(MeetingAttack, TheRightOneGetsInWhateverCrowdIsAtTheDoor) {
  const auto& rendezvous = point_.rendezvous();
  auto waiting =
      std::async(std::launch::async, [&] { return point_.await(*control_, deadline_in(60'000)); });
  std::vector<LocalPeer> crowd;
  for (int i = 0; i < 300; ++i) {
    crowd.push_back(knock(rendezvous));
    std::array<std::byte, 16> token = rendezvous.client_token;
    token[15] ^= std::byte{1};
    const std::vector<std::byte> noise(static_cast<std::size_t>(i));
    // Wrong; the server's own; of another length; with files beside it; nothing at all.
    const std::array<int, 2> files{0, 1};
    if (i % 5 == 0) static_cast<void>(crowd.back().send(token));
    if (i % 5 == 1) static_cast<void>(crowd.back().send(rendezvous.server_token));
    if (i % 5 == 2) static_cast<void>(crowd.back().send(noise));
    if (i % 5 == 3) static_cast<void>(crowd.back().send(token, files));
  }
  const auto client = session::meet(rendezvous, deadline_in());
  EXPECT_TRUE(client) << client.error().to_string();
  const auto server = waiting.get();
  ASSERT_TRUE(server);
  // All came before it, and of the silent ones only so many are there.
  std::array<std::byte, 1> heard;
  EXPECT_LE(std::count_if(crowd.begin(), crowd.end(),
                          [&](const LocalPeer& visitor) {
                            const auto message = visitor.receive_now(heard);
                            return message && !message->has_value();
                          }),
            32);
  EXPECT_TRUE(client->send(std::array{std::byte{42}}));
  ASSERT_TRUE(server->receive(heard, deadline_in()));
  EXPECT_EQ(heard[0], std::byte{42});
}

TEST_F(MeetingAttack, AnotherUsersProcessIsNotLetIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  auto waiting =
      std::async(std::launch::async, [&] { return point_.await(*control_, deadline_in()); });
  EXPECT_EQ(as_nobody([&] {
              const LocalPeer visitor = knock(point_.rendezvous());
              std::array<std::byte, 16> shown;
              const bool sent = visitor.send(point_.rendezvous().client_token).has_value();
              return !sent || !visitor.receive(shown, deadline_in(2000));
            }),
            0);
  EXPECT_EQ(::write(far_.get(), "x", 1), 1);  // the client says that it could not
  EXPECT_FALSE(waiting.get());
}

TEST_F(MeetingAttack, AnotherUsersProcessIsNoServer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const auto rendezvous = some_rendezvous();
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  auto host = std::async(std::launch::async, [&] {
    return as_nobody([&] {
      const FileDescriptor place = occupy(rendezvous);
      if (::write(ready[1], "x", 1) != 1) return false;
      const LocalPeer visitor{
          FileDescriptor(::accept4(place.get(), nullptr, nullptr, SOCK_CLOEXEC))};
      static_cast<void>(visitor.send(rendezvous.server_token));
      std::array<std::byte, 16> shown;
      return !visitor.receive(shown, deadline_in(1000));  // the token is not shown to it, either
    });
  });
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const auto met = session::meet(rendezvous, deadline_in());
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().message(), HasSubstr("somebody else's process"));
  EXPECT_EQ(host.get(), 0);
}

// Two processes that share memory have nothing of UCX's, and no lane of UCX's shares any.
TEST(UcxSharedMemoryAttack, ThereIsNoAddressToWrite) {
  auto ends = connect_ends("shared_apart");
  EXPECT_EQ(ends->near().path().name, "shared memory");
  const auto folder = fmt::format("/proc/self/task/{}/children", ::getpid());
  int looked_at = 0;
  std::ifstream children(folder);
  for (std::string child; children >> child; ++looked_at) {
    std::ifstream maps(fmt::format("/proc/{}/maps", child));
    const std::string all{std::istreambuf_iterator<char>(maps), {}};
    EXPECT_THAT(all, HasSubstr("memfd:framewire"));
    EXPECT_THAT(all, Not(HasSubstr("libucp")));
    EXPECT_THAT(all, Not(HasSubstr("ucx_shm")));
  }
  EXPECT_GT(looked_at, 0);
#ifdef FRAMEWIRE_HAS_UCX
  for (const auto lanes : {ucx::Lanes::kTcp, ucx::Lanes::kVerbs}) {
    const auto settings = ucx::settings_of(lanes, "lo", true);
    ASSERT_TRUE(settings);
    for (const auto& [name, value] : *settings) {
      if (std::string(name) != "TLS") continue;
      for (const char* shares :
           {"posix", "sysv", "cma", "knem", "xpmem", "sm", "shm", "self", "all", "cuda_ipc"}) {
        EXPECT_EQ(("," + value + ",").find(fmt::format(",{},", shares)), std::string::npos);
      }
    }
  }
#endif
}

}  // namespace
}  // namespace framewire::transport::testing
