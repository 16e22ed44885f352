// What strangers do to listeners that speak TLS.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <base/file_descriptor.hpp>
#include <list>
#include <service/http/endpoint.hpp>
#include <service/http/handshakes.hpp>
#include <tests/service/http/tls_server.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

std::string without_tls(const std::string& endpoint) { return endpoint.substr(4); }

// The first bytes of a handshake, of which a client says no more.
const std::string kHalfHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

/// A connection to the server from an address of loopback that is chosen.
base::FileDescriptor connect_from(const char* address, const std::string& endpoint) {
  base::FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  (void)::inet_pton(AF_INET, address, &from.sin_addr);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(parse_endpoint(endpoint)->port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST(HttpTlsAttack, PlainHttpIsToldSo) {
  TlsServer server;
  for (const std::string method : {"GET", "POST", "DELETE", "PRI"}) {
    TestClient client(without_tls(server.endpoint()));
    const auto answer = client.ask(method + " /livez HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(answer) << method;
    EXPECT_EQ(answer->status, 400);
    EXPECT_EQ(answer->field("connection"), "close");
    EXPECT_NE(answer->body.find("https"), std::string::npos);
    client.end_sending();
    EXPECT_TRUE(client.closed_within(9s));
    EXPECT_TRUE(client.rest().empty());
  }
}

TEST(HttpTlsAttack, GarbageCloses) {
  TlsServer server;
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(state >> 24));
  }
  const std::string garbage[] = {
      noise,
      "\n" + noise,
      kHalfHello + noise,
      std::string(20'000, '\0'),
      std::string(20'000, '\x16'),
      "\x15\x03\x01\x00\x02\x02\x28",  // an alert
      "\x80\x2e\x01\x00\x02",          // SSL 2
  };
  for (const std::string& bytes : garbage) {
    TestClient client(without_tls(server.endpoint()));
    (void)client.send(bytes);
    client.end_sending();
    EXPECT_TRUE(client.closed_within(9s));
    EXPECT_EQ(client.rest().find("HTTP"), std::string::npos);
  }
  EXPECT_EQ(TestClient(server.endpoint()).ask(get("/livez"))->status, 200);
}

TEST(HttpTlsAttack, GarbageAfterTheHandshakeCloses) {
  TlsServer server;
  TestClient client(server.endpoint());
  ASSERT_EQ(client.ask(get("/livez"))->status, 200);
  ASSERT_GT(::send(SSL_get_fd(client.tls()->ssl()), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  EXPECT_TRUE(client.closed_within(9s));
  EXPECT_TRUE(client.rest().empty());
}

TEST(HttpTlsAttack, SlowHandshakesAreCutOff) {
  TlsServer server(impatient());
  TestClient silent(without_tls(server.endpoint()));
  TestClient slow(without_tls(server.endpoint()));
  std::size_t sent = 0;
  while (sent < 500 && slow.send(kHalfHello.substr(std::min<std::size_t>(sent, 10), 1))) {
    ++sent;
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(sent, 500u);
  EXPECT_TRUE(silent.closed_within(kPatience));
  EXPECT_TRUE(silent.rest().empty());
}

// Half a record after the handshake is a head that does not come.
TEST(HttpTlsAttack, SlowRecordsAreCutOff) {
  TlsServer server(impatient());
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.connected());
  const int fd = SSL_get_fd(client.tls()->ssl());
  ASSERT_EQ(::send(fd, "\x17\x03\x03\x40\x00", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(within_a_minute([&] { return ::send(fd, "x", 1, MSG_NOSIGNAL) != 1; }));
}

// One address cannot keep another out, however many handshakes it begins.
TEST(HttpTlsAttack, AFloodOfHalfHandshakesClosesItsOwn) {
  ServiceSettings settings = loopback();
  settings.max_handshakes = 8;
  settings.read_timeout_ms = 600'000;
  TlsServer server(settings);
  auto honest = connect_from("127.0.0.2", server.endpoint());
  ASSERT_EQ(::send(honest.get(), kHalfHello.data(), 1, MSG_NOSIGNAL), 1);
  std::list<TestClient> flood;
  for (int i = 0; i < 100; ++i) {
    flood.emplace_back(without_tls(server.endpoint()));
    (void)flood.back().send(kHalfHello);
  }
  const auto displaced = [&] {
    return server.metric("framewire_tls_handshakes_total{result=\"displaced\"}");
  };
  EXPECT_TRUE(within_a_minute([&] { return displaced() == "93"; })) << displaced();
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().connections <= 9; }));
  EXPECT_TRUE(flood.front().closed_within(kPatience)) << "the oldest of the flood";
  pollfd ready{honest.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 200), 0) << "the other address' was closed";
  for (int i = 0; i < 20; ++i) {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  }
}

TEST(HttpTlsAttack, WhoHasMostHandshakesGivesWay) {
  TlsHandshakes handshakes;
  EXPECT_EQ(handshakes.giving_way(), nullptr);
  EXPECT_EQ(handshakes.most_of_one(), 0u);
  char places[6];
  const auto connection = [&](int i) { return reinterpret_cast<Connection*>(&places[i]); };
  handshakes.add(connection(0), {1});
  handshakes.add(connection(1), {2});
  EXPECT_EQ(handshakes.giving_way(), connection(0)) << "the oldest of equals";
  handshakes.add(connection(2), {3});
  handshakes.add(connection(3), {2});
  EXPECT_EQ(handshakes.giving_way(), connection(1));
  EXPECT_EQ(handshakes.most_of_one(), 2u);
  EXPECT_TRUE(handshakes.remove(connection(1)));
  EXPECT_FALSE(handshakes.remove(connection(1)));
  EXPECT_EQ(handshakes.giving_way(), connection(0));
}

// Which thread a client comes to is the system's choice: of so many rounds some have the newcomer
// come to a thread that has no handshake to close.
TEST(HttpTlsAttack, HandshakesOfAnotherThreadGiveWay) {
  ServiceSettings settings = loopback();
  settings.threads = 4;
  settings.max_handshakes = 1;
  settings.read_timeout_ms = 600'000;
  TlsServer server(settings);
  const auto connections = [&] { return server.server.server().state().connections; };
  for (int i = 0; i < 20; ++i) {
    {
      TestClient silent(without_tls(server.endpoint()));
      ASSERT_TRUE(silent.send(kHalfHello));
      ASSERT_TRUE(within_a_minute([&] { return connections() == 1; }));
      TestClient client(server.endpoint());
      ASSERT_TRUE(client.connected()) << i;
      EXPECT_EQ(client.ask(get("/livez"))->status, 200);
      EXPECT_TRUE(silent.closed_within(kPatience));
    }
    ASSERT_TRUE(within_a_minute([&] { return connections() == 0; }));
  }
}

TEST(HttpTlsAttack, HandshakesCountAsConnections) {
  ServiceSettings settings = loopback();
  settings.max_connections = 4;
  TlsServer server(settings);
  std::list<TestClient> silent;
  for (int i = 0; i < 12; ++i) silent.emplace_back(without_tls(server.endpoint()));
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().connections <= 4; }));
}

TEST(HttpTlsAttack, ABodyThatIsCutOffIsNoBody) {
  TlsServer server;
  const std::string jpeg = text_of(make_jpeg(64, 48));
  for (const std::string framing : {"Content-Length: 90000", "Transfer-Encoding: chunked"}) {
    // The end of a connection alone proves nothing: anybody on the way can send that.
    TestClient cut(server.endpoint());
    ASSERT_TRUE(cut.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n"));
    cut.end_sending(false);
    EXPECT_FALSE(cut.receive()) << framing;
    // Who says that it ends there hears why nothing came of it.
    TestClient ended(server.endpoint());
    ASSERT_TRUE(ended.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n"));
    ended.tls()->close_notify();
    const auto answer = ended.receive();
    ASSERT_TRUE(answer) << framing;
    EXPECT_EQ(answer->status, 400);
  }
  EXPECT_TRUE(server.server.idle());
  EXPECT_TRUE(within_a_minute(
      [&] { return server.server.log().find("\"status\":499") != std::string::npos; }));
}

TEST(HttpTlsAttack, SlowBodiesAreCutOffAndSurviveTheirMove) {
  TlsServer hasty(impatient());
  TestClient never(hasty.endpoint());
  ASSERT_TRUE(never.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n"));
  EXPECT_EQ(never.receive()->status, 408);
  TlsServer server;
  const std::string request = post("/v1/resize?size=80x", text_of(make_jpeg(800, 600)));
  TestClient client(server.endpoint());
  const std::size_t piece = request.size() / 8 + 1;
  for (std::size_t at = 0; at < request.size(); at += piece) {
    ASSERT_TRUE(client.send(std::string_view(request).substr(at, piece)));
    std::this_thread::sleep_for(150ms);
  }
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(size_of(answer->body), "80x60");
}

TEST(HttpTlsAttack, AnswersThatNobodyReadsEnd) {
  TlsServer server(impatient());
  TestClient client(server.endpoint());
  const std::string request = post("/v1/inspect", text_of(make_jpeg(64, 48)));
  const auto gone = [&] { return server.server.log().find("\"status\":499") != std::string::npos; };
  std::thread sending([&] {
    while (!gone() && client.send(request)) {
    }
  });
  EXPECT_TRUE(within_a_minute(gone));
  sending.join();
  EXPECT_TRUE(server.server.idle());
}

TEST(HttpTlsAttack, ClientsThatVanishCancelTheirWork) {
  TlsServer server;
  const std::string request =
      post("/v1/resize?size=4000x&enlarge=true&filter=lanczos3", text_of(make_jpeg(3000, 2000)));
  for (int i = 0; i < 8; ++i) {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.send(request));
    client.tls()->close_notify();
    if (i % 2 == 0) client.reset();
  }
  EXPECT_TRUE(server.server.idle());
  EXPECT_EQ(TestClient(server.endpoint()).ask(get("/livez"))->status, 200);
}

TEST(HttpTlsAttack, RenegotiationIsRefused) {
  TlsServer server;
  TestClient client(server.endpoint(), {.version = TLS1_2_VERSION});
  ASSERT_EQ(client.ask(get("/livez"))->status, 200);
  ASSERT_EQ(SSL_renegotiate(client.tls()->ssl()), 1);
  // A warning that there is none, which OpenSSL's client takes for an end.
  EXPECT_NE(SSL_do_handshake(client.tls()->ssl()), 1);
  EXPECT_EQ(TestClient(server.endpoint()).ask(get("/livez"))->status, 200);
}

// Each asks the server for new keys of its own, and brings no byte of a request.
TEST(HttpTlsAttack, KeyUpdatesDoNotHoldUpOthers) {
  TlsServer server(impatient());
  TestClient client(server.endpoint(), {.version = TLS1_3_VERSION});
  TestClient other(server.endpoint());
  ASSERT_TRUE(other.connected());
  for (int i = 0; i < 2'000; ++i) {
    if (SSL_key_update(client.tls()->ssl(), SSL_KEY_UPDATE_REQUESTED) != 1) break;
    if (SSL_do_handshake(client.tls()->ssl()) != 1) break;
    if (i % 500 == 0) {
      ASSERT_TRUE(TestClient(server.endpoint()).connected());
    }
  }
  EXPECT_EQ(TestClient(server.endpoint()).ask(get("/livez"))->status, 200);
  EXPECT_TRUE(client.closed_within(kPatience));
}

}  // namespace
}  // namespace framewire::service::http::test
