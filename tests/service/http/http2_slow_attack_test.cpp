// Clients of HTTP/2 that send slowly, read nothing, or vanish.
#include <gtest/gtest.h>
#include <list>
#include <tests/service/http/http2_attack.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(HttpHttp2SlowAttack, BodiesThatNeverComeAreCutOffAlone) {
  TlsServer server(impatient());
  Http2Client client(server.endpoint());
  const std::int32_t never = client.begin(post_fields("/v1/resize?size=8x", 5'000), false);
  const std::int32_t endless = client.begin(get_fields("/v1/resize?size=8x", "POST"), false);
  EXPECT_EQ(client.answer(never).status, 408);
  EXPECT_EQ(client.answer(endless).status, 408);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
  expect_still_serving(server);
}

// A client with one connection may send its bodies one after the other, which takes longer than the
// time in which nothing has to come.
TEST(HttpHttp2SlowAttack, BodiesThatWaitBehindOthersAreNotLate) {
  ServiceSettings settings = loopback();
  settings.read_timeout_ms = 3'000;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(80, 60));
  const std::string piece(64 << 10, 'x');
  constexpr std::size_t kPieces = 60;
  const std::int32_t last = client.begin(post_fields("/v1/resize?size=8x", jpeg.size()), false);
  const std::int32_t first = client.begin(post_fields("/v1/resize", kPieces * piece.size()), false);
  for (std::size_t i = 0; i < kPieces; ++i) {
    while (client.granted(first) < (i + 1) * piece.size()) ASSERT_TRUE(client.receive());
    for (std::size_t at = 0; at < piece.size(); at += 16'384) {
      ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, 0, first, piece.substr(at, 16'384))));
    }
    std::this_thread::sleep_for(80ms);
  }
  ASSERT_TRUE(client.send_body(last, jpeg));
  EXPECT_EQ(client.answer(last).status, 200);
  client.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2SlowAttack, SlowBodiesMoveOutOfEngineMemory) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(800, 600));
  const std::int32_t stream = client.begin(post_fields("/v1/resize?size=80x", jpeg.size()), false);
  // Longer than the time after which they move.
  for (std::size_t at = 0; at < jpeg.size(); at += jpeg.size() / 8) {
    ASSERT_TRUE(client.send_body(stream, jpeg.substr(at, jpeg.size() / 8), false));
    std::this_thread::sleep_for(100ms);
  }
  ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream)));
  EXPECT_EQ(size_of(client.answer(stream).body), "80x60");
}

TEST(HttpHttp2SlowAttack, SlowHeadsAndSilenceEndTheConnection) {
  TlsServer server(impatient());
  Http2Client silent(server.endpoint());
  ServiceSettings slow_to_close = impatient();
  slow_to_close.keep_alive_timeout_ms = 10'000;
  TlsServer other(slow_to_close);
  Http2Client half(other.endpoint());
  ASSERT_EQ(half.ask(get_fields("/livez")).status, 200) << "whose SETTINGS are known by now";
  const std::string head =
      frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 3, half.block(get_fields("/livez")));
  ASSERT_TRUE(half.send(head));
  Http2Client quarter(other.endpoint());
  ASSERT_EQ(quarter.ask(get_fields("/livez")).status, 200);
  ASSERT_TRUE(quarter.send(head.substr(0, 12)));
  // Bytes that are no request keep nothing open.
  Http2Client pinging(server.endpoint());
  const auto begun = Clock::now();
  while (!pinging.ended() && Clock::now() - begun < kPatience) {
    if (!pinging.send(frame(NGHTTP2_PING, 0, 0, "12345678"))) break;
    (void)pinging.receive(20);
  }
  EXPECT_LT(Clock::now() - begun, kPatience);
  EXPECT_EQ(silent.last_word(), NGHTTP2_NO_ERROR);
  EXPECT_EQ(half.last_word(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(quarter.last_word(), NGHTTP2_ENHANCE_YOUR_CALM);
  expect_still_serving(other);
}

// Answers wait for a window that never opens, or opens by a byte at a time.
TEST(HttpHttp2SlowAttack, AnswersThatNobodyReadsEnd) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = impatient();
  settings.source.root = folder.path().string();
  settings.keep_alive_timeout_ms = 10'000;
  settings.write_timeout_ms = 3'000;
  TlsServer server(settings);
  Http2Client client(server.endpoint(), test::settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  client.opens_windows = false;
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(
        client.begin(get_fields("/unsafe/q:100/w:" + std::to_string(380 + i) + "/plain/a.jpg")));
  }
  const auto state = [&] { return server.server.server().state(); };
  EXPECT_TRUE(within_a_minute([&] { return state().bytes > 20u * 5'000; }))
      << "answers count until they have been read";
  // Each looks like a sign of life, and there are few enough to be no flood.
  const auto all_end = [&] {
    (void)client.send(frame(NGHTTP2_WINDOW_UPDATE, 0, streams[0], number(1)));
    (void)client.receive(50);
    return state().bytes == 0;
  };
  EXPECT_TRUE(within_a_minute(all_end));
  for (const std::int32_t stream : streams) {
    EXPECT_EQ(client.answer(stream).reset, NGHTTP2_CANCEL) << stream;
  }
  EXPECT_NE(server.server.log().find("the answer was not read"), std::string::npos);
  EXPECT_EQ(state().connections, 1u) << "the connection is as good as before";
  client.opens_windows = true;
  client.reset();
  expect_still_serving(server);
}

/// A server that hands on a file of 30 MB as it is.
struct LargeFile {
  LargeFile() { folder.write("large", std::string(30'000'000, 'x')); }
  [[nodiscard]] ServiceSettings settings() const {
    ServiceSettings settings = loopback();
    settings.source.root = folder.path().string();
    settings.allow_raw = true;
    return settings;
  }
  service::test::TemporaryFolder folder;
  const Fields fields = get_fields("/unsafe/raw:1/plain/large");
};

TEST(HttpHttp2SlowAttack, WhoReadsNothingAtAllIsCutOff) {
  const LargeFile large;
  ServiceSettings settings = large.settings();
  settings.write_timeout_ms = 300;
  TlsServer server(settings);
  Http2Client client(server.endpoint(),
                     test::settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7FFFFFFF) +
                         frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(0x7FFF0000)));
  // The answer fills the sockets; then the server's write does not end.
  (void)client.begin(large.fields);
  EXPECT_TRUE(within_a_minute(
      [&] { return server.server.log().find("\"status\":499") != std::string::npos; }));
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().connections == 0; }));
  expect_still_serving(server);
}

// However long answers and bodies are that do not move.
TEST(HttpHttp2SlowAttack, LongOnesThatStopEnd) {
  const LargeFile large;
  ServiceSettings settings = large.settings();
  settings.write_timeout_ms = settings.read_timeout_ms = 1'000;
  TlsServer server(settings);
  Http2Client client(server.endpoint(), test::settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  client.opens_windows = false;
  const std::int32_t unread = client.begin(large.fields);
  EXPECT_EQ(client.answer(unread).reset, NGHTTP2_CANCEL);
  client.opens_windows = true;
  const std::int32_t unsent = client.begin(post_fields("/v1/resize", 60'000'000), false);
  EXPECT_EQ(client.answer(unsent).status, 408);
  client.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2SlowAttack, AnswersThatWaitAreBounded) {
  const LargeFile large;
  TlsServer server(large.settings());
  Http2Client client(server.endpoint(), test::settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  client.opens_windows = false;
  std::size_t heads = 0;
  for (int i = 0; i < 3; ++i) (void)client.begin(large.fields);
  while (heads < 3) {
    const auto got = client.receive();
    ASSERT_TRUE(got);
    heads += got->type == NGHTTP2_HEADERS ? 1 : 0;
  }
  const std::int32_t beyond = client.begin(get_fields("/livez", "HEAD"));
  EXPECT_EQ(client.answer(beyond).status, 429);
  // Those that come while the first is under way share its bytes, which count once then.
  const std::uint64_t bytes = server.server.server().state().bytes;
  EXPECT_GE(bytes, 30'000'000u);
  EXPECT_LE(bytes, 90'000'000u);
  client.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2SlowAttack, BodiesBeyondTheirWindowTakeNoMemory) {
  ServiceSettings settings = loopback();
  settings.queue = 1;
  TlsServer server(settings);
  Http2Client holding(server.endpoint());
  (void)holding.begin(post_fields("/v1/resize", 10), false);
  ASSERT_TRUE(within_a_minute([&] { return server.server.server().state().requests == 1; }));
  Http2Client client(server.endpoint());
  ASSERT_EQ(client.ask(get_fields("/livez")).status, 200) << "SETTINGS are known by now";
  const std::int32_t stream = client.begin(post_fields("/v1/resize", 1'000'000), false);
  const std::string part = frame(NGHTTP2_DATA, 0, stream, std::string(16'000, 'x'));
  for (int i = 0; i < 60 && client.send(part); ++i) {
  }
  const Http2Answer answer = client.answer(stream);
  EXPECT_TRUE(answer.status == 429 || answer.reset.has_value() || client.ended());
  EXPECT_LT(server.server.server().state().bytes, 1'000u);
  holding.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2SlowAttack, VanishingClientsLeaveNothing) {
  TlsServer server;
  const std::string jpeg = text_of(make_jpeg(1600, 1200));
  for (int i = 0; i < 10; ++i) {
    Http2Client client(server.endpoint());
    for (int k = 0; k < 5; ++k) {
      const auto fields = post_fields("/v1/resize?size=900x", jpeg.size());
      const std::int32_t stream = client.begin(fields, false);
      (void)client.send_body(stream, std::string_view(jpeg).substr(0, jpeg.size() / (k + 1)),
                             false);
      if (k == 0) (void)client.send(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream));
    }
    if (i % 2 == 0) client.reset();
  }
  EXPECT_TRUE(server.server.idle());
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().connections == 0; }));
}

TEST(HttpHttp2SlowAttack, IdleConnectionsGiveWay) {
  ServiceSettings settings = loopback();
  settings.max_connections = 4;
  TlsServer server(settings);
  std::list<Http2Client> idle;
  for (int i = 0; i < 8; ++i) {
    idle.emplace_back(server.endpoint());
    ASSERT_EQ(idle.back().ask(get_fields("/livez")).status, 200);
  }
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().connections <= 4; }));
  (void)idle.front().last_word();
  EXPECT_TRUE(idle.front().ended());
}

}  // namespace
}  // namespace framewire::service::http::test
