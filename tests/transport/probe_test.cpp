// What somebody without credentials, or with the wrong ones, gets.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <array>
#include <base/file_descriptor.hpp>
#include <future>
#include <optional>
#include <random>
#include <tests/transport/probe.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>
#ifdef FRAMEWIRE_HAS_UCX
#include <transport/batch.hpp>
#include <transport/ucx/port.hpp>
#include <transport/ucx/siphash.hpp>
#endif

namespace framewire::transport {
namespace {

using ::testing::HasSubstr;

class AttackProbe : public testing::Probe {};
using testing::kKeys;

TEST_F(AttackProbe, TheServerKnowsWhichKeyWasUsed) {
  const auto file = write("keys", kKeys);
  const auto outcome = meet(with(key(file)), with(key(file, "bob")));
  ASSERT_TRUE(outcome.server) << outcome.server.error().to_string();
  ASSERT_TRUE(outcome.client);
  EXPECT_EQ(outcome.server->config().peer, "bob");
  EXPECT_EQ(outcome.client->config().epoch, outcome.server->config().epoch);
}

TEST_F(AttackProbe, AWrongKeyIsDenied) {
  const auto wrong = write("wrong", "ann 99112233445566778899aabbccddeeff\n");
  const auto outcome = meet(with(key(write("keys", kKeys))), with(key(wrong)));
  EXPECT_EQ(outcome.server.error().code(), StatusCode::kDenied);
  EXPECT_FALSE(outcome.client);
}

TEST_F(AttackProbe, AnUnknownNameIsDenied) {
  const auto other = write("other", "eve 00112233445566778899aabbccddeeff\n");
  const auto outcome = meet(with(key(write("keys", kKeys))), with(key(other)));
  EXPECT_EQ(outcome.server.error().code(), StatusCode::kDenied);
  EXPECT_FALSE(outcome.client);
}

TEST_F(AttackProbe, TheAllowListCounts) {
  const auto file = write("keys", kKeys);
  auto server = with(key(file));
  server.security.allowed = {"ann"};
  EXPECT_TRUE(meet(server, with(key(file, "ann"))).server);
  const auto outcome = meet(server, with(key(file, "bob")));
  EXPECT_EQ(outcome.server.error().code(), StatusCode::kDenied);
  EXPECT_THAT(outcome.server.error().message(), HasSubstr("'bob'"));
  EXPECT_FALSE(outcome.client);
}

TEST_F(AttackProbe, KeyFilesMustBeWellFormed) {
  const auto code = [&](const std::string& text) {
    return Listener::listen("localhost:0", with(key(write("k", text)))).error().code();
  };
  for (const char* text :
       {"", "ann", "ann 0011", "ann zz112233445566778899aabbccddeeff",
        "ann 00112233445566778899aabbccddeeff more", "\xe4nn 00112233445566778899aabbccddeeff",
        "a\x1b[2Jn 00112233445566778899aabbccddeeff"}) {
    EXPECT_EQ(code(text), StatusCode::kInvalidInput) << text;
  }
  EXPECT_EQ(Listener::listen("localhost:0", with(key("/nowhere"))).error().code(),
            StatusCode::kIoError);
}

TEST_F(AttackProbe, CertificatesOfTheAuthorityAreLetInAndOthersAreNot) {
  certify("authority", "");
  certify("receiver", "authority", testing::Subject{{"receiver"}, {{"IP", "127.0.0.1"}}});
  certify("sender", "authority");
  certify("stranger", "");
  const auto server = with(certificates("receiver", "authority"));
  const auto good = meet(server, with(certificates("sender", "authority")));
  ASSERT_TRUE(good.server) << good.server.error().to_string();
  ASSERT_TRUE(good.client) << good.client.error().to_string();
  EXPECT_EQ(good.server->config().peer, "sender");
  EXPECT_EQ(good.client->config().peer, "127.0.0.1");
  const auto bad = meet(server, with(certificates("stranger", "authority")));
  EXPECT_EQ(bad.server.error().code(), StatusCode::kDenied);
  EXPECT_FALSE(bad.client);
  // The client's side of it: a server that the client's authority does not know.
  const auto impostor =
      meet(with(certificates("stranger", "stranger")), with(certificates("sender", "authority")));
  EXPECT_FALSE(impostor.server);
  EXPECT_EQ(impostor.client.error().code(), StatusCode::kDenied);
}

// By a server that shows one, and lets in whoever comes.
TEST_F(AttackProbe, AKeyHolderIsNotSatisfiedByACertificate) {
  certify("stranger", "");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  auto server = std::async(std::launch::async, [&, socket = base::FileDescriptor(ends[1])] {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    const std::string name = folder_ + "/stranger";
    SSL_CTX_use_certificate_file(context.get(), (name + ".pem").c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context.get(), (name + ".key").c_str(), SSL_FILETYPE_PEM);
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(ssl.get(), socket.get());
    static_cast<void>(SSL_accept(ssl.get()));
  });
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  const auto client = wire::TlsContext::make(key(write("keys", kKeys)), false);
  ASSERT_TRUE(client);
  const auto stream = client->shake_hands(base::FileDescriptor(ends[0]), "127.0.0.1",
                                          base::Clock::now() + std::chrono::seconds(60));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), StatusCode::kDenied) << stream.error().to_string();
}

TEST_F(AttackProbe, PlainTextIsNotSpokenToASecureServer) {
  Security insecure;
  insecure.insecure = true;
  const auto outcome = meet(with(key(write("keys", kKeys))), with(insecure));
  EXPECT_FALSE(outcome.server);
  EXPECT_FALSE(outcome.client);
}

TEST_F(AttackProbe, NothingToProveWithIsRefusedAtOnce) {
  EXPECT_EQ(Listener::listen("localhost:0", with({})).error().code(), StatusCode::kInvalidInput);
  auto both = key(write("keys", kKeys));
  both.insecure = true;
  EXPECT_EQ(Listener::listen("localhost:0", with(both)).error().code(), StatusCode::kInvalidInput);
  auto half = certificates("x", "y");
  half.key.clear();
  EXPECT_EQ(Listener::listen("localhost:0", with(half)).error().code(), StatusCode::kInvalidInput);
}

TEST_F(AttackProbe, AListOfPeersMeansSomebodyProvesWhoHeIs) {
  Security security;
  security.insecure = true;
  security.allowed = {"alice"};
  EXPECT_EQ(Listener::listen("localhost:0", with(security)).error().code(),
            StatusCode::kInvalidInput);
  EXPECT_EQ(connect("localhost:9", with(security)).error().code(), StatusCode::kInvalidInput);
  security.allowed.clear();
  security.psk_name = "ann";
  EXPECT_EQ(Listener::listen("localhost:0", with(security)).error().code(),
            StatusCode::kInvalidInput);
}

TEST_F(AttackProbe, UcxOverTcpNeedsInsecure) {
  auto options = with(key(write("keys", kKeys)));
  options.links = {kUcxTcpLink};
  EXPECT_EQ(Listener::listen("localhost:0", options).error().code(), StatusCode::kDenied);
  options.links = {"carrier-pigeon"};
  EXPECT_EQ(Listener::listen("localhost:0", options).error().code(), StatusCode::kInvalidInput);
}

// A port scan: whatever comes, the listener answers the next caller.
TEST_F(AttackProbe, RandomBytesDoNotStopTheListener) {
  std::mt19937 random(7);
  for (const bool insecure : {false, true}) {
    Security security = key(write("keys", kKeys));
    if (insecure) security = {};
    security.insecure = insecure;
    auto options = with(security);
    options.timeout_ms = 10'000;
    auto listener = Listener::listen("localhost:0", options);
    ASSERT_TRUE(listener);
    const auto port = listener->port();
    for (int i = 0; i < 20; ++i) {
      const auto deadline = base::Clock::now() + std::chrono::seconds(60);
      auto socket = wire::connect_to({"127.0.0.1", port}, deadline);
      ASSERT_TRUE(socket);
      auto stream = wire::make_plain_stream(std::move(*socket));
      std::vector<std::byte> noise(random() % 400);
      for (auto& byte : noise) byte = static_cast<std::byte>(random());
      if (i % 3 == 0 && noise.size() > 16) {
        wire::encode({wire::FrameType::kHello, static_cast<std::uint32_t>(noise.size() - 16), 0},
                     std::span<std::byte, 16>(noise.data(), 16));
      }
      ASSERT_TRUE(wire::write_all(*stream, noise, deadline));
      if (i % 5 != 0) stream.reset();  // the others stay, silent
    }
    auto connecting = std::async(
        std::launch::async, [&] { return connect(fmt::format("127.0.0.1:{}", port), options); });
    auto accepted = listener->accept(1000);
    for (int i = 0; i < 20 && !accepted; ++i) accepted = listener->accept(1000);
    EXPECT_TRUE(accepted);
    EXPECT_TRUE(connecting.get());
  }
}

TEST(Address, IsHostAndPort) {
  EXPECT_EQ(wire::parse_address("host:80")->host, "host");
  EXPECT_EQ(wire::parse_address("[fe80::1]:80")->host, "fe80::1");
  EXPECT_EQ(wire::parse_address(":80")->host, "127.0.0.1");
  for (const char* bad : {"", "host", "host:", "host:x", "host:99999", "fe80::1:80", "host:80 "}) {
    EXPECT_FALSE(wire::parse_address(bad)) << bad;
  }
}

#ifdef FRAMEWIRE_HAS_UCX
TEST(SipHash, GivesThePapersVector) {
  ucx::MacKey key;
  std::array<std::byte, 15> message;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  EXPECT_EQ(ucx::siphash(key, message), 0xa129ca6149be45e5U);
}

struct CountingSink final : LinkSink {
  int packets = 0;
  Placement on_packet(std::span<const std::byte>, std::uint64_t) override {
    ++packets;
    return {};
  }
  void on_received(LinkOp, bool) override {}
  void on_sent(LinkOp, bool) override {}
  void on_lost(const Status& status) override { lost = status; }
  std::optional<Status> lost;
};

struct Alive final : ucx::Lifeline {
  Result<void> check() override { return {}; }
};

// Two UCX ends in this process, over TCP. Each waits for the other.
struct Joined {
  std::unique_ptr<Link> receiving;
  std::unique_ptr<Link> sending;
};
std::optional<Joined> join_ends(bool forged) {
  auto owner = ucx::make_port(ucx::Lanes::kTcp, "lo");
  auto prober = ucx::make_port(ucx::Lanes::kTcp, "lo");
  if (!owner || !prober) return std::nullopt;
  auto blob = (*owner)->blob();
  const auto back = (*prober)->blob();
  if (forged) blob[3] ^= std::byte{1};
  const auto deadline = base::Clock::now() + std::chrono::seconds(10);
  auto joining = std::async(std::launch::async, [&] {
    return (*prober)->join(blob, std::make_unique<Alive>(), deadline);
  });
  auto receiving = (*owner)->join(back, std::make_unique<Alive>(), deadline);
  auto sending = joining.get();
  if (!receiving || !sending) return std::nullopt;
  return Joined{std::move(*receiving), std::move(*sending)};
}

// Whoever reaches the worker, but has not been given its key over the control connection, is not
// heard; whoever has, is.
TEST(AttackUcxProbe, PacketsWithoutTheKeyAreDropped) {
  if (const auto port = ucx::make_port(ucx::Lanes::kTcp, "lo"); !port) {
    GTEST_SKIP() << port.error().to_string();
  }
  for (const bool forged : {true, false}) {
    CountingSink heard;  // before the links, which use them to their end
    CountingSink unused;
    auto ends = join_ends(forged);
    ASSERT_TRUE(ends);
    ends->receiving->attach(&heard);
    ends->sending->attach(&unused);
    Packet packet;
    packet.epoch = 1;
    std::array<std::byte, kMaxPacketHead> head;
    const std::size_t bytes = encode(packet, head);
    const std::vector<std::byte> payload(100'000);
    const auto packet_head = std::span<const std::byte>(head).first(bytes);
    ASSERT_TRUE(ends->sending->send(packet_head, payload.data(), payload.size(), 0));
    // The first small one goes by itself, the others in one message.
    ends->sending->progress();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(ends->sending->send(packet_head, nullptr, 0, kNoOp));
    }
    const auto end = base::Clock::now() + std::chrono::seconds(60);
    for (int i = 0; heard.packets < 4 && (forged ? i < 20'000 : base::Clock::now() < end); ++i) {
      ends->sending->progress();
      ends->receiving->progress();
    }
    EXPECT_EQ(heard.packets, forged ? 0 : 4);
  }
}

// A peer whose message of several packets has sizes that lie is not worth talking to.
TEST(AttackUcxProbe, SizesThatLieEndTheConnection) {
  if (const auto port = ucx::make_port(ucx::Lanes::kTcp, "lo"); !port) {
    GTEST_SKIP() << port.error().to_string();
  }
  CountingSink heard;
  CountingSink unused;
  auto ends = join_ends(false);
  ASSERT_TRUE(ends);
  ends->receiving->attach(&heard);
  ends->sending->attach(&unused);
  std::array<std::byte, 64> lie{};
  lie.fill(std::byte{0x7f});
  lie[0] = kBatchKind;
  ASSERT_TRUE(ends->sending->send(lie, nullptr, 0, kNoOp));
  for (int i = 0; i < 20'000 && !heard.lost; ++i) {
    ends->sending->progress();
    ends->receiving->progress();
  }
  EXPECT_EQ(heard.packets, 0);
  ASSERT_TRUE(heard.lost);
  EXPECT_EQ(heard.lost->code(), StatusCode::kInvalidInput);
}
#endif

}  // namespace
}  // namespace framewire::transport
