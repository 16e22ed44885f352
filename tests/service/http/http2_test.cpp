// The server over HTTP/2: it answers as it does over HTTP/1.1, many requests at a time.
#include <gtest/gtest.h>
#include <algorithm>
#include <functional>
#include <service/http/http2_head.hpp>
#include <tests/service/http/http2_client.hpp>
#include <tests/service/http/tls_server.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/support/held_engine.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

TEST(HttpHttp2, IsChosenByTheHandshake) {
  TlsServer server;
  EXPECT_TRUE(Http2Client(server.endpoint()).connected());
  TestClient old(server.endpoint(), {.protocol = "http/1.1"});
  EXPECT_EQ(old.tls()->protocol(), "http/1.1");
  EXPECT_EQ(old.ask(get("/livez"))->status, 200);
  TestClient silent(server.endpoint());
  EXPECT_EQ(silent.ask(get("/livez"))->status, 200) << "without ALPN it is HTTP/1.1";
}

TEST(HttpHttp2, CanBeTurnedOffAndOnWhileItRuns) {
  ServiceSettings settings = loopback();
  settings.http2 = false;
  TlsServer server(settings);
  EXPECT_FALSE(Http2Client(server.endpoint()).connected());
  EXPECT_EQ(TestClient(server.endpoint(), {.protocol = "http/1.1"}).ask(get("/livez"))->status,
            200);
  server.settings.http2 = true;
  ASSERT_TRUE(server.reload());
  EXPECT_EQ(Http2Client(server.endpoint()).ask(get_fields("/livez")).status, 200);
}

TEST(HttpHttp2, AnswersHaveTheFieldsOfHttp1) {
  TlsServer server;
  Http2Client client(server.endpoint());
  Fields fields = get_fields("/livez");
  fields.emplace_back("x-request-id", "mine-1");
  const Http2Answer got = client.ask(fields);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "ok\n");
  EXPECT_EQ(got.field("x-request-id"), "mine-1");
  TestClient old(server.plain_endpoint());
  const auto expected = old.ask(get("/livez", "X-Request-ID: mine-1\r\nConnection: close\r\n"));
  ASSERT_TRUE(expected);
  std::multimap<std::string, std::string> same = expected->fields;
  EXPECT_EQ(same.erase("connection"), 1u);
  same.emplace(":status", "200");
  same.erase("date");
  auto without_date = got.fields;
  EXPECT_EQ(without_date.erase("date"), 1u);
  EXPECT_EQ(without_date, same);
}

TEST(HttpHttp2, AnswersWithoutBodies) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const Http2Answer head = client.ask(get_fields("/livez", "HEAD"));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("content-length"), "3");
  EXPECT_EQ(head.body, "");
  EXPECT_TRUE(within_a_minute([&] { return !server.server.log().empty(); }));
  EXPECT_NE(server.server.log().find("\"bytes_out\":0,"), std::string::npos);
  EXPECT_EQ(client.ask(get_fields("/livez", "OPTIONS")).field("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.ask(get_fields("/livez", "DELETE")).status, 405);
  EXPECT_EQ(client.ask(get_fields("/v1/nothing")).status, 404);
  EXPECT_EQ(client.ask(get_fields("*", "OPTIONS")).status, 200);
}

TEST(HttpHttp2, GivesTheBytesThatHttp1Gives) {
  TlsServer server;
  const std::string target = "/v1/resize?size=1900x&quality=95";
  const std::string jpeg = text_of(make_jpeg(3000, 2000));
  TestClient plain(server.plain_endpoint());
  const auto expected = plain.ask(post(target, jpeg));
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->status, 200);
  // So that windows have to be opened both ways.
  ASSERT_GT(jpeg.size(), 200'000u);
  ASSERT_GT(expected->body.size(), 200'000u);
  Http2Client client(server.endpoint());
  for (int i = 0; i < 3; ++i) {
    const Http2Answer answer = client.ask(post_fields(target, jpeg.size()), jpeg);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == expected->body);
    EXPECT_EQ(answer.granted, jpeg.size()) << "as much as memory was taken for";
    EXPECT_LE(answer.longest_frame, 16'384u);
  }
  // Frames longer than a record of TLS, where the client takes them.
  Http2Client longer(server.endpoint(),
                     settings(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 20) +
                         settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24) +
                         frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(1 << 24)));
  const Http2Answer answer = longer.ask(post_fields(target, jpeg.size()), jpeg);
  EXPECT_TRUE(answer.body == expected->body);
  EXPECT_GT(answer.longest_frame, 16'384u);
  EXPECT_TRUE(server.server.idle());
}

// Frames that are longer than a record of TLS are sent in part from where the picture lies. What
// else is to be sent meanwhile must not come in between.
TEST(HttpHttp2, LongFramesStayWholeWhateverIsSentMeanwhile) {
  const service::test::TemporaryFolder folder;
  std::vector<std::string> pictures;
  for (int i = 0; i < 3; ++i) {
    std::string bytes = text_of(make_jpeg(64, 48));
    std::uint32_t noise = static_cast<std::uint32_t>(i) + 1;
    while (bytes.size() < (std::size_t{6} << 20)) {
      noise = noise * 1'664'525 + 1'013'904'223;
      bytes += static_cast<char>(noise >> 24);
    }
    folder.write(std::to_string(i) + ".jpg", bytes);
    pictures.push_back(std::move(bytes));
  }
  ServiceSettings wanted = loopback();
  wanted.source.root = folder.path().string();
  wanted.allow_raw = true;
  wanted.defaults.limits.max_input_bytes = 16u << 20;
  TlsServer server(wanted);
  Http2Client client(server.endpoint(),
                     settings(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 20) +
                         settings(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24) +
                         frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(1 << 30)));
  client.opens_windows = false;
  std::vector<std::int32_t> streams;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    streams.push_back(
        client.begin(get_fields("/unsafe/raw:1/plain/" + std::to_string(i) + ".jpg")));
  }
  // Each frame that comes brings a PING and a request: the server has them while it waits for the
  // client to read on.
  std::vector<std::int32_t> probes;
  int pings = 0;
  int answered_pings = 0;
  std::size_t ended = 0;
  while (ended < streams.size() + probes.size() || answered_pings < pings) {
    const auto got = client.receive();
    ASSERT_TRUE(got) << "the server has closed, or sends no frames";
    ASSERT_LE(got->type, NGHTTP2_CONTINUATION);
    if (got->type == NGHTTP2_PING) {
      EXPECT_EQ(got->payload, "PINGPING");
      ++answered_pings;
    }
    if (got->type != NGHTTP2_DATA) continue;
    if (got->ends_stream()) ++ended;
    if (pings == 250 || std::ranges::find(streams, got->stream) == streams.end()) continue;
    ++pings;
    ASSERT_TRUE(client.send(frame(NGHTTP2_PING, 0, 0, "PINGPING")));
    if (pings % 10 == 0) probes.push_back(client.begin(get_fields("/livez")));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Http2Answer answer = client.answer(streams[i]);
    EXPECT_EQ(answer.status, 200);
    EXPECT_GT(answer.longest_frame, 16'384u);
    EXPECT_TRUE(answer.body == pictures[i]) << i;
  }
  for (const std::int32_t probe : probes) EXPECT_EQ(client.answer(probe).body, "ok\n");
  EXPECT_TRUE(server.server.idle());
}

TEST(HttpHttp2, ManyStreamsAtOnceEachGetTheirOwn) {
  TlsServer server;
  Http2Client client(server.endpoint());
  std::vector<std::int32_t> streams;
  std::vector<std::string> pictures;
  for (int i = 0; i < 40; ++i) {
    pictures.push_back(text_of(make_jpeg(64 + i, 48)));
    const std::string target = "/v1/resize?enlarge=true&size=" + std::to_string(300 + i) + "x";
    streams.push_back(client.begin(post_fields(target, pictures.back().size()), false));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    ASSERT_TRUE(client.send_body(streams[i], pictures[i]));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Http2Answer answer = client.answer(streams[i]);
    ASSERT_EQ(answer.status, 200) << i;
    EXPECT_TRUE(size_of(answer.body).starts_with(std::to_string(300 + i) + "x")) << i;
  }
  EXPECT_TRUE(server.server.idle());
}

TEST(HttpHttp2, AnswersTenThousandRequestsOfOneConnection) {
  TlsServer server;
  Http2Client client(server.endpoint());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int32_t> streams;
    for (int i = 0; i < 50; ++i) streams.push_back(client.begin(get_fields("/livez")));
    for (const std::int32_t stream : streams) ASSERT_EQ(client.answer(stream).status, 200) << round;
  }
}

TEST(HttpHttp2, BodiesWithoutALengthAndWithPadding) {
  TlsServer server;
  const std::string jpeg = text_of(make_jpeg(1600, 1200));
  ASSERT_GT(jpeg.size(), 65'536u) << "so that memory has to grow";
  Http2Client client(server.endpoint());
  Fields fields = get_fields("/v1/resize?size=80x", "POST");
  EXPECT_EQ(size_of(client.ask(fields, jpeg).body), "80x60");
  // A quarter of the window is padding.
  const std::string small = text_of(make_jpeg(200, 150));
  const std::int32_t stream = client.begin(post_fields("/v1/resize?size=20x", small.size()), false);
  std::uint64_t used = 0;
  std::uint64_t padding = 0;
  for (std::size_t at = 0; at < small.size(); at += 300) {
    const bool last = at + 300 >= small.size();
    const bool padded = small.size() - at > 600;
    const std::string part = small.substr(at, 300);
    used += part.size() + (padded ? 100 : 0);
    padding += padded ? 100 : 0;
    while (client.granted(stream) < used) ASSERT_TRUE(client.receive());
    const auto flags = (padded ? NGHTTP2_FLAG_PADDED : 0) | (last ? NGHTTP2_FLAG_END_STREAM : 0);
    ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, static_cast<std::uint8_t>(flags), stream,
                                  padded ? '\x63' + part + std::string(99, '\0') : part)));
  }
  ASSERT_GT(padding, 600u);
  const Http2Answer answer = client.answer(stream);
  EXPECT_EQ(size_of(answer.body), "20x15");
  ASSERT_LT(small.size(), NGHTTP2_INITIAL_WINDOW_SIZE);
  EXPECT_EQ(answer.granted, NGHTTP2_INITIAL_WINDOW_SIZE + padding);
  // Trailers end a body, too.
  const std::int32_t last = client.begin(post_fields("/v1/resize?size=10x", small.size()), false);
  ASSERT_TRUE(client.send_body(last, small, false));
  ASSERT_TRUE(client.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS,
                                last, client.block({{"checksum", "1"}}))));
  EXPECT_EQ(client.answer(last).status, 200);
}

// As clients do that have not read the server's SETTINGS yet, or whose library (httpcore) fails
// where these make a window smaller than what has gone out.
TEST(HttpHttp2, UploadsBeginWithTheirHead) {
  TlsServer server;
  const std::string jpegs[] = {text_of(make_jpeg(200, 150)), text_of(make_jpeg(1600, 1200))};
  ASSERT_LT(jpegs[0].size(), NGHTTP2_INITIAL_WINDOW_SIZE);
  ASSERT_GT(jpegs[1].size(), NGHTTP2_INITIAL_WINDOW_SIZE);
  for (const std::string& jpeg : jpegs) {
    for (const bool has_length : {true, false}) {
      Http2Client client(server.endpoint());
      Fields fields = post_fields("/v1/resize?size=20x", jpeg.size());
      if (!has_length) fields = get_fields("/v1/resize?size=20x", "POST");
      const std::int32_t stream = client.begin(fields, false);
      std::size_t sent = 0;
      const std::size_t first = std::min<std::size_t>(jpeg.size(), NGHTTP2_INITIAL_WINDOW_SIZE);
      for (std::size_t bytes = 0; sent < first; sent += bytes) {
        bytes = std::min<std::size_t>(first - sent, 16'384);
        const bool last = sent + bytes == jpeg.size();
        ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, last ? NGHTTP2_FLAG_END_STREAM : 0, stream,
                                      std::string_view(jpeg).substr(sent, bytes))));
      }
      if (sent < jpeg.size()) {
        ASSERT_TRUE(client.send_body(stream, jpeg, true, sent));
      } else {
        EXPECT_EQ(client.granted(stream), NGHTTP2_INITIAL_WINDOW_SIZE);
      }
      const Http2Answer answer = client.answer(stream);
      EXPECT_EQ(size_of(answer.body), "20x15");
    }
  }
}

TEST(HttpHttp2, ContinuesClientsThatAskBefore) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(200, 100));
  Fields fields = post_fields("/v1/resize?size=20x", jpeg.size());
  fields.emplace_back("expect", "100-continue");
  const Http2Answer answer = client.ask(fields, jpeg);
  EXPECT_EQ(answer.field(":status"), "100");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(size_of(answer.body), "20x10");
}

TEST(HttpHttp2, PicturesByUrlAreNotSentTwice) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(320, 200)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  // What has just been written may be written again in the same instant: that has no ETag.
  Http2Answer first;
  ASSERT_TRUE(within_a_minute([&] {
    first = client.ask(get_fields("/unsafe/w:32/plain/a.jpg"));
    return !first.field("etag").empty();
  }));
  ASSERT_EQ(first.status, 200);
  EXPECT_EQ(size_of(first.body), "32x20");
  EXPECT_NE(first.field("server-timing"), "");
  Fields fields = get_fields("/unsafe/w:32/plain/a.jpg");
  fields.emplace_back("if-none-match", first.field("etag"));
  const Http2Answer second = client.ask(fields);
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.body, "");
  // Equal requests at once share one computation, and each has its answer.
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 50; ++i) {
    streams.push_back(client.begin(get_fields("/unsafe/w:31/plain/a.jpg")));
  }
  for (const std::int32_t stream : streams) EXPECT_EQ(size_of(client.answer(stream).body), "31x19");
  EXPECT_TRUE(server.server.idle());
}

TEST(HttpHttp2, WhatIsNotAdmittedHasTheInitialWindowAlone) {
  ServiceSettings settings = loopback();
  settings.queue = 2;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(64, 48));
  const auto fields = post_fields("/v1/resize?size=8x", jpeg.size());
  const std::int32_t held[] = {client.begin(fields, false), client.begin(fields, false)};
  const Http2Answer refused = client.answer(client.begin(fields, false));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("retry-after"), "1");
  EXPECT_EQ(refused.granted, NGHTTP2_INITIAL_WINDOW_SIZE);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
  for (const std::int32_t stream : held) {
    ASSERT_TRUE(client.send_body(stream, jpeg));
    EXPECT_EQ(client.answer(stream).status, 200);
  }
}

TEST(HttpHttp2, AResetCancelsTheRequestAlone) {
  TlsServer server;
  Http2Client client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(300, 200));
  const std::string target = "/v1/resize?size=400x&enlarge=true";
  framewire::test::HeldEngine held(server.server.engine(), 1);
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 6; ++i) {
    streams.push_back(client.begin(post_fields(target, jpeg.size()), false));
    ASSERT_TRUE(client.send_body(streams.back(), jpeg));
  }
  for (std::size_t i = 1; i < streams.size(); ++i) {
    ASSERT_TRUE(client.send(frame(NGHTTP2_RST_STREAM, 0, streams[i], number(NGHTTP2_CANCEL))));
  }
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200) << "the resets have come before";
  held.release();
  EXPECT_EQ(client.answer(streams[0]).status, 200);
  EXPECT_TRUE(server.server.idle());
  const auto cancelled = [&] {
    const std::string log = server.server.log();
    int count = 0;
    for (std::size_t at = 0; (at = log.find("\"status\":499", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  EXPECT_TRUE(within_a_minute([&] { return cancelled() == 5; })) << cancelled();
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
}

TEST(HttpHttp2, DrainsWithAWord) {
  ServiceSettings settings = loopback();
  settings.drain_timeout_ms = 60'000;
  TlsServer server(settings);
  Http2Client idle(server.endpoint());
  ASSERT_EQ(idle.ask(get_fields("/livez")).status, 200);
  Http2Client busy(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(64, 48));
  const std::int32_t under_way = busy.begin(post_fields("/v1/resize?size=8x", jpeg.size()), false);
  ASSERT_TRUE(within_a_minute([&] { return server.server.server().state().requests == 1; }));
  Http2Client late(server.endpoint());
  ASSERT_EQ(late.ask(get_fields("/livez")).status, 200);
  // Sent before the notice is read.
  std::thread asking([&] {
    ASSERT_TRUE(late.comes_something());
    EXPECT_EQ(late.ask(get_fields("/livez")).status, 200);
    EXPECT_EQ(late.last_word(), NGHTTP2_NO_ERROR);
    EXPECT_EQ(idle.last_word(), NGHTTP2_NO_ERROR);
    EXPECT_TRUE(idle.ended());
    // Notice is given first: what is on its way then is still answered.
    auto notice = busy.receive();
    while (notice && notice->type != NGHTTP2_GOAWAY) {
      EXPECT_NE(notice->type, NGHTTP2_PING) << "its answer would say that the notice was read";
      notice = busy.receive();
    }
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->number(0), 0x7FFFFFFFu);
    EXPECT_EQ(busy.ask(get_fields("/livez")).status, 200);
    ASSERT_TRUE(busy.send_body(under_way, jpeg));
    EXPECT_EQ(busy.answer(under_way).status, 200);
    EXPECT_EQ(busy.last_word(), NGHTTP2_NO_ERROR);
  });
  EXPECT_TRUE(server.server.server().drain());
  asking.join();
}

TEST(HttpHttp2, CountsAsOtherRequestsDo) {
  TlsServer server;
  Http2Client client(server.endpoint());
  EXPECT_EQ(client.ask(get_fields("/v1/nothing")).status, 404);
  EXPECT_EQ(client.ask(get_fields("/v1/options")).status, 200);
  EXPECT_TRUE(within_a_minute([&] {
    return server.metric("framewire_status_codes_total{status=\"404\"}") == "1" &&
           server.metric("framewire_requests_in_progress") == "0";
  }));
  EXPECT_EQ(server.metric("framewire_http2_requests_total"), "2");
}

std::string head_of(const Fields& fields, bool ended = true) {
  Http2Head head(HeadBounds{200, 50, 5});
  for (const auto& [name, value] : fields) head.add(name, value);
  const auto text = head.text(ended);
  return text ? *text : "! " + text.error().message;
}

Fields with(const std::string& name, const std::string& value) {
  Fields fields = get_fields("/a");
  fields.emplace_back(name, value);
  return fields;
}

TEST(HttpHttp2Head, IsTheTextOfHttp1) {
  EXPECT_EQ(head_of(with("accept", "*/*")), "GET /a HTTP/1.1\r\nHost: test\r\naccept: */*\r\n\r\n");
  EXPECT_EQ(head_of(get_fields("/a", "POST"), false),
            "POST /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(head_of(get_fields("/a", "POST")),
            "POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(head_of(post_fields("/a", 9), false).find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(head_of(with("host", "TEST")), "GET /a HTTP/1.1\r\nHost: test\r\n\r\n");
}

TEST(HttpHttp2HeadAttack, WhatWouldBeReadInTwoWaysIsRefused) {
  const Fields cases[] = {
      with("host", "other"),
      with("x", "a\r\nx-request-id: smuggled"),
      with("x", "a\nb"),
      with("x", std::string("a\0b", 3)),
      with("x: a\r\nhost", "b"),
      with("", "b"),
      with("connection", "close"),
      with("transfer-encoding", "chunked"),
      with("upgrade", "h2c"),
      with(":protocol", "websocket"),
      get_fields("http://other/"),
      get_fields("a"),
      get_fields(""),
      get_fields("/a", ""),
      get_fields("/a", "GET /b"),
      {{":method", "CONNECT"}, {":authority", "test:443"}},
      {{":method", "GET"}, {":scheme", "https"}, {":path", "/"}},
      {{":method", "GET"}, {":scheme", "ftp"}, {":authority", "a"}, {":path", "/"}},
      {{":method", "GET"}, {":path", "/"}, {"host", "a"}, {"host", "a"}},
  };
  for (const Fields& fields : cases) {
    const std::string text = head_of(fields);
    EXPECT_TRUE(text.starts_with("! ")) << text;
  }
}

TEST(HttpHttp2HeadAttack, BoundsAreThoseOfHttp1) {
  EXPECT_EQ(head_of(get_fields("/" + std::string(49, 'a'))).substr(0, 3), "GET");
  EXPECT_EQ(head_of(get_fields("/" + std::string(50, 'a'))), "! the request target is too long");
  EXPECT_EQ(head_of(with("x", std::string(200, 'a'))), "! the request's head is too long");
  Fields many = get_fields("/a");
  for (int i = 0; i < 6; ++i) many.emplace_back("x", "y");
  EXPECT_EQ(head_of(many), "! the request has too many fields");
}

}  // namespace
}  // namespace framewire::service::http::test
