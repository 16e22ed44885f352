// What strangers send over HTTP/2 that HTTP/1.1 has no way for.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <chrono>
#include <functional>
#include <tests/service/http/http2_attack.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

// More frames than any client has reason for, until the server ends the connection.
// @return the error that it named; nothing where it named none
std::optional<std::uint32_t> flood(Http2Client& client, const std::function<std::string()>& next,
                                   int most = 20'000) {
  for (int i = 0; i < most; i += 50) {
    std::string frames;
    for (int k = 0; k < 50; ++k) frames += next();
    if (!client.send(frames)) break;
  }
  return client.last_word();
}

struct Flood {
  const char* name;
  std::string frame;
};

TEST(HttpHttp2Attack, FloodsOfWhatBringsNothingEndTheConnection) {
  const Flood floods[] = {
      {"PING", frame(NGHTTP2_PING, 0, 0, "12345678")},
      {"answers to no PING", frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "12345678")},
      {"SETTINGS", frame(NGHTTP2_SETTINGS, 0, 0)},
      {"SETTINGS that change", settings(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0) +
                                   settings(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096)},
      {"PRIORITY", frame(NGHTTP2_PRIORITY, 0, 1, number(3) + "\x10")},
      {"PRIORITY_UPDATE", frame(0x10, 0, 0, number(1) + "u=1")},
      {"unknown", frame(0xBA, 0, 0)},
      {"WINDOW_UPDATE", frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(1))},
      {"empty DATA", frame(NGHTTP2_DATA, 0, 1)},
      {"DATA of padding", frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, std::string(4, '\x3'))},
  };
  for (const Flood& one : floods) {
    TlsServer server;
    Http2Client client(server.endpoint());
    (void)client.begin(post_fields("/v1/resize", 9'000'000), false);
    EXPECT_EQ(flood(client, [&] { return one.frame; }), NGHTTP2_ENHANCE_YOUR_CALM) << one.name;
    EXPECT_EQ(server.metric("framewire_http2_floods_total"), "1") << one.name;
    expect_still_serving(server);
  }
}

// What looks like the end of a request, or like a head, and belongs to no request any more.
TEST(HttpHttp2Attack, FloodsToStreamsThatHaveEndedEndTheConnection) {
  const auto headers = [](std::size_t fields) {
    return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 1,
                 std::string(fields, '\x82'));  // ":method: GET" each
  };
  struct {
    Flood flood;
    int most;
  } const cases[] = {
      {{"empty DATA that ends a body", frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1)}, 20'000},
      {{"HEADERS", headers(1)}, 20'000},
      {{"HEADERS that unpack to much", headers(16'384)}, 100},
  };
  for (const auto& one : cases) {
    TlsServer server;
    Http2Client client(server.endpoint());
    ASSERT_EQ(client.ask(get_fields("/livez")).status, 200);
    EXPECT_EQ(flood(
                  client, [&] { return one.flood.frame; }, one.most),
              NGHTTP2_ENHANCE_YOUR_CALM)
        << one.flood.name;
    EXPECT_EQ(server.metric("framewire_http2_floods_total"), "1") << one.flood.name;
    expect_still_serving(server);
  }
}

// CVE-2023-44487: streams that are begun and reset are never too many at once.
TEST(HttpHttp2Attack, RapidResetsEndTheConnection) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(2000, 1500)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  settings.queue = 8;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  int begun = 0;
  const auto next = [&] {
    const std::int32_t stream = std::exchange(client.next_stream, client.next_stream + 2);
    const std::string target = "/unsafe/w:" + std::to_string(100 + ++begun) + "/plain/a.jpg";
    return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream,
                 client.block(get_fields(target))) +
           frame(NGHTTP2_RST_STREAM, 0, stream, number(NGHTTP2_CANCEL));
  };
  EXPECT_EQ(flood(client, next), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_LE(server.server.server().state().requests, 8u) << "what was reset counts while it works";
  expect_still_serving(server);
}

// CVE-2025-8671: the server is made to reset them.
TEST(HttpHttp2Attack, StreamsThatHaveToBeResetEndTheConnection) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const auto next = [&] {
    const std::int32_t stream = std::exchange(client.next_stream, client.next_stream + 2);
    return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream,
                 client.block(post_fields("/v1/resize", 10))) +
           frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, "short");
  };
  EXPECT_EQ(flood(client, next), NGHTTP2_ENHANCE_YOUR_CALM);
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, ContinuationsWithoutAnEndEndTheConnection) {
  for (const std::size_t bytes : {0u, 1u, 16'000u}) {
    TlsServer server;
    Http2Client client(server.endpoint());
    std::string head = client.block(get_fields("/livez"));
    ASSERT_TRUE(client.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, head)));
    // One field of the static table again and again: "accept-encoding: gzip, deflate".
    const std::string part = frame(NGHTTP2_CONTINUATION, 0, 1, std::string(bytes, '\x90'));
    const auto error = flood(client, [&] { return part; });
    EXPECT_TRUE(error == NGHTTP2_ENHANCE_YOUR_CALM || error == NGHTTP2_INTERNAL_ERROR ||
                client.ended())
        << bytes;
    EXPECT_TRUE(client.ended());
    expect_still_serving(server);
  }
}

TEST(HttpHttp2Attack, HeadsThatUnpackToManyBytesAreCutOff) {
  TlsServer server;
  // A field of 2,900 bytes goes into the table; each further byte of the head stands for it.
  Http2Client client(server.endpoint());
  Fields fields = get_fields("/livez");
  fields.emplace_back("x", std::string(2'900, 'a'));
  ASSERT_EQ(client.ask(fields).status, 200);
  const auto bomb = [&](std::size_t times) {
    const std::int32_t stream = std::exchange(client.next_stream, client.next_stream + 2);
    const std::string head = client.block(get_fields("/livez")) + std::string(times, '\xBE');
    (void)client.send(
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream, head));
    return stream;
  };
  EXPECT_EQ(client.answer(bomb(5)).status, 200);
  // Beyond what a head may have it is answered, far beyond it the connection ends.
  EXPECT_EQ(client.answer(bomb(20)).status, 431);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
  (void)bomb(16'000);
  EXPECT_EQ(client.last_word(), NGHTTP2_ENHANCE_YOUR_CALM);
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, HeadsAreBounded) {
  ServiceSettings settings = loopback();
  settings.max_header_bytes = 4096;
  settings.max_target_bytes = 1024;
  settings.max_header_lines = 10;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  EXPECT_EQ(client.ask(get_fields("/" + std::string(1024, 'a'))).status, 414);
  Fields large = get_fields("/livez");
  large.emplace_back("x", std::string(5000, 'a'));
  EXPECT_EQ(client.ask(large).status, 431);
  Fields many = get_fields("/livez");
  for (int i = 0; i < 11; ++i) many.emplace_back("a", "b");
  EXPECT_EQ(client.ask(many).status, 431);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200) << "the connection is as good as before";
  // Heads of requests under way are bounded together.
  Fields waiting = post_fields("/v1/resize", 10);
  waiting.emplace_back("x", std::string(3'000, 'a'));
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(client.begin(waiting, false));
  EXPECT_EQ(client.answer(streams.back()).status, 429);
  client.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, MoreStreamsThanAllowedAreRefused) {
  TlsServer server;
  Http2Client client(server.endpoint());
  ASSERT_EQ(client.ask(get_fields("/livez")).status, 200);
  for (int i = 0; i < 100; ++i) (void)client.begin(post_fields("/v1/resize", 10), false);
  const std::int32_t beyond = client.begin(get_fields("/livez"));
  const Http2Answer answer = client.answer(beyond);
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(answer.reset == NGHTTP2_REFUSED_STREAM || client.ended());
  EXPECT_LE(server.server.server().state().requests, 100u);
  client.reset();
  expect_still_serving(server);
}

// Streams of one connection are requests of one address, and count as such.
TEST(HttpHttp2Attack, ManyStreamsGetNoMoreThanTheQueueHas) {
  ServiceSettings settings = loopback();
  settings.queue = 20;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 60; ++i) {
    streams.push_back(client.begin(post_fields("/v1/resize", 10), false));
  }
  int refused = 0;
  for (std::size_t i = 20; i < streams.size(); ++i) {
    refused += client.answer(streams[i]).status == 429 ? 1 : 0;
  }
  EXPECT_EQ(refused, 40);
  EXPECT_EQ(server.server.server().state().requests, 20u);
  client.reset();
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, LengthsThatLieAreRefused) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(64, 48));
  for (const std::size_t said : {jpeg.size() + 1, jpeg.size() - 1}) {
    const std::int32_t stream = client.begin(post_fields("/v1/resize?size=8x", said), false);
    ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, jpeg)));
    const auto reset = client.answer(stream).reset;
    EXPECT_TRUE(reset == NGHTTP2_PROTOCOL_ERROR || reset == NGHTTP2_FLOW_CONTROL_ERROR) << said;
  }
  const std::int32_t none = client.begin(post_fields("/v1/resize?size=8x", 5), true);
  EXPECT_EQ(client.answer(none).reset, NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, ABodyThatIsEndedIsEnded) {
  TlsServer server;
  const std::string jpeg = text_of(make_jpeg(64, 48));
  Http2Client client(server.endpoint());
  const std::int32_t stream = client.begin(post_fields("/v1/resize?size=8x", jpeg.size()), false);
  ASSERT_TRUE(client.send_body(stream, jpeg));
  ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, jpeg)));
  const Http2Answer answer = client.answer(stream);
  EXPECT_TRUE(answer.status == 200 || answer.reset == NGHTTP2_STREAM_CLOSED || client.ended());
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, MalformedHeadsAreNoRequests) {
  const auto with = [](const std::string& name, const std::string& value) {
    Fields fields = get_fields("/livez");
    fields.emplace_back(name, value);
    return fields;
  };
  const Fields cases[] = {
      with("X-Upper", "a"),
      with("connection", "close"),
      with("keep-alive", "1"),
      with("proxy-connection", "close"),
      with("transfer-encoding", "chunked"),
      with("upgrade", "h2c"),
      with("te", "gzip"),
      with("x", "a\r\nx-request-id: smuggled"),
      with("x", " a"),
      with("bad name", "a"),
      with("content-length", "1x"),
      with(":path", "/livez"),
      with(":status", "200"),
      with(":unknown", "a"),
      with("host", "other"),
      {{":method", "GET"}, {":scheme", "https"}, {"x", "a"}, {":authority", "a"}, {":path", "/"}},
      {{":method", "GET"}, {":authority", "a"}, {":path", "/livez"}},
      {{":scheme", "https"}, {":authority", "a"}, {":path", "/livez"}},
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}},
      {{":method", "GET"}, {":scheme", "https"}, {":path", "/livez"}},
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "a@b"}, {":path", "/livez"}},
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "livez"}},
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/li vez"}},
      {{":method", "CONNECT"}, {":authority", "a:443"}},
  };
  TlsServer server;
  Http2Client client(server.endpoint());
  for (const Fields& fields : cases) {
    const Http2Answer answer = client.ask(fields);
    EXPECT_TRUE(answer.status == 400 || answer.reset == NGHTTP2_PROTOCOL_ERROR)
        << fields.back().first << ": " << fields.back().second << " got " << answer.status;
    ASSERT_FALSE(client.ended()) << fields.back().first;
  }
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200)
      << "one bad request is no other's concern";
  EXPECT_EQ(server.server.log().find("smuggled"), std::string::npos);
}

TEST(HttpHttp2Attack, GarbageCloses) {
  TlsServer server;
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string garbage[] = {
      get("/livez"),
      std::string(50'000, 'x'),
      preface.substr(0, 10) + get("/livez"),
      preface + get("/livez"),
      preface + frame(NGHTTP2_PING, 0, 0, "12345678"),
      preface + settings(3, 100) + std::string(50'000, '\xFF'),
      preface + settings(3, 100) + frame(NGHTTP2_HEADERS, 5, 2, "\x82"),
      preface + settings(3, 100) + frame(NGHTTP2_HEADERS, 5, 1, std::string(100, '\xFF')),
      preface + settings(3, 100) + frame(NGHTTP2_PUSH_PROMISE, 4, 1, number(2)),
      preface + settings(3, 100) + frame(NGHTTP2_CONTINUATION, 4, 1, "\x82"),
      preface + settings(3, 100) + frame(NGHTTP2_DATA, 0, 0, "a"),
      preface + settings(4, 0x80000000u),
  };
  for (const std::string& bytes : garbage) {
    TestClient client(server.endpoint(), {.protocol = "h2"});
    ASSERT_TRUE(client.connected());
    (void)client.send(bytes);
    client.end_sending(false);
    EXPECT_TRUE(client.closed_within(std::chrono::seconds(9)));
    EXPECT_EQ(client.rest().find("HTTP/1"), std::string::npos);
  }
  expect_still_serving(server);
}

TEST(HttpHttp2Attack, EveryCutOfARequestEndsWell) {
  TlsServer server;
  const std::string jpeg = text_of(make_jpeg(16, 16));
  for (std::size_t cut = 0; cut < 700; cut += 13) {
    Http2Client client(server.endpoint());
    const std::string request =
        frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1,
              client.block(post_fields("/v1/resize?size=8x", jpeg.size()))) +
        frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, jpeg);
    ASSERT_TRUE(client.send(request.substr(0, cut)));
    if (cut % 2 == 0) client.reset();
  }
  expect_still_serving(server);
}

}  // namespace
}  // namespace framewire::service::http::test
