// Answers that cost no work, and that nobody reads: what they take is shared, or has a bound.
#include <gtest/gtest.h>
#include <malloc.h>
#include <list>
#include <map>
#include <tests/service/http/http2_client.hpp>
#include <tests/service/http/other_address.hpp>
#include <tests/service/http/tls_server.hpp>

namespace framewire::service::http::test {
namespace {

constexpr int kStreams = 100;

// Asks on all streams of a connection, and opens no window for the answers.
void ask_on_all_streams(Http2Client& client, const Fields& fields) {
  for (int i = 0; i < kStreams; ++i) (void)client.begin(fields);
}

std::list<Http2Client> ask_without_reading(const TlsServer& server, int connections,
                                           const Fields& fields) {
  std::list<Http2Client> clients;
  for (int i = 0; i < connections; ++i) {
    clients.emplace_back(server.endpoint(), settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
    ask_on_all_streams(clients.back(), fields);
  }
  return clients;
}

// Heads come though windows are closed. @return how many there are of each status
std::map<int, int> statuses(std::list<Http2Client>& clients) {
  std::map<int, int> counts;
  for (Http2Client& client : clients) {
    for (int heads = 0; heads < kStreams;) {
      const auto got = client.receive();
      if (!got) return counts;
      if (got->type != NGHTTP2_HEADERS) continue;
      ++heads;
      ++counts[client.status(got->stream)];
    }
  }
  return counts;
}

TEST(HttpUnreadAnswersAttack, PageAndOptionsAreThereOnce) {
  TlsServer server;
  for (const char* const target : {"/", "/v1/options"}) {
    SCOPED_TRACE(target);
    TestClient first(server.plain_endpoint());
    const auto answer = first.ask(get(target));
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200);
    constexpr int kConnections = 8;
    const std::size_t before = ::mallinfo2().uordblks;
    auto clients = ask_without_reading(server, kConnections, get_fields(target));
    const auto counts = statuses(clients);
    EXPECT_EQ(counts.at(200), kConnections * kStreams);
    const std::size_t after = ::mallinfo2().uordblks;
    // What each request takes is a few kilobytes, whatever the length of its answer.
    EXPECT_LT(after, before + kConnections * kStreams * 7'000);
    EXPECT_EQ(server.server.server().state().bytes, 0u);
  }
}

TEST(HttpUnreadAnswersAttack, ErrorsCountAndAreRefused) {
  constexpr std::uint64_t kBytes = 20'000;
  ServiceSettings wanted = loopback();
  wanted.defaults.limits.max_input_bytes = wanted.bytes_under_way = kBytes;
  TlsServer server(wanted);
  auto clients = ask_without_reading(server, 4, get_fields("/v1/nothing"));
  const auto counts = statuses(clients);
  EXPECT_GT(counts.at(404), 50);
  EXPECT_GT(counts.at(503), 50);
  EXPECT_EQ(counts.at(404) + counts.at(503), 4 * kStreams);
  EXPECT_GT(server.server.server().state().bytes, kBytes / 2);
  EXPECT_LE(server.server.server().state().bytes, kBytes);
  EXPECT_EQ(TestClient(server.plain_endpoint()).ask(get("/livez"))->status, 200);
  // Others have their share: the slowest answers give way.
  EXPECT_TRUE(within_a_minute([&] {
    const OtherAddress other(server.plain_endpoint());
    return other.send(get("/v1/nothing")) && other.status() == 404;
  }));
  clients.clear();
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().bytes == 0; }));
  EXPECT_EQ(TestClient(server.plain_endpoint()).ask(get("/v1/nothing"))->status, 404);
}

TEST(HttpUnreadAnswersAttack, ScrapesCount) {
  TlsServer server;
  Fields fields = get_fields("/metrics");
  fields[2].second = "localhost";
  Http2Client client(server.endpoint(), settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  (void)client.begin(fields);
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().bytes > 5'000; }));
  client.reset();
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().bytes == 0; }));
}

}  // namespace
}  // namespace framewire::service::http::test
