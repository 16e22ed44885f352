// Uploads over HTTP/2 that are answered before they have come: the answer reaches the client, and
// what it goes on sending is dropped.
#include <gtest/gtest.h>
#include <algorithm>
#include <tests/service/http/http2_attack.hpp>
#include <vector>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBodyBytes = 400'000;
/// What a client may send that has its answer.
constexpr std::uint64_t kMaxOpenBytes = 3u << 20;

/// The next frame of the stream.
std::optional<Frame> next_of(Http2Client& client, std::int32_t stream) {
  auto frame = client.receive();
  while (frame && frame->stream != stream) frame = client.receive();
  return frame;
}

/// Sends the rest of a body whose answer is there, as clients do that read no answer before.
void expect_body_is_dropped(Http2Client& client, std::int32_t stream, std::size_t bytes) {
  const std::string part(16'000, 'x');
  for (std::size_t at = 0; at < bytes; at += part.size()) {
    while (client.granted(stream) < std::min(at + part.size(), bytes)) {
      const auto window = next_of(client, stream);
      ASSERT_TRUE(window);
      ASSERT_EQ(window->type, NGHTTP2_WINDOW_UPDATE) << "a reset could hide the answer";
    }
    EXPECT_LE(client.granted(stream), at + kMaxOpenBytes) << "the rest is not asked for ahead";
    const bool last = at + part.size() >= bytes;
    ASSERT_TRUE(client.send(frame(NGHTTP2_DATA, last ? NGHTTP2_FLAG_END_STREAM : 0, stream,
                                  std::string_view(part).substr(0, bytes - at))));
  }
  const std::int32_t other = client.begin(get_fields("/livez"));
  while (const auto frame = client.receive()) {
    EXPECT_TRUE(frame->stream != stream || frame->type == NGHTTP2_WINDOW_UPDATE);
    if (frame->stream == other && frame->ends_stream()) return;
  }
  FAIL() << "the connection has ended";
}

TEST(HttpHttp2Refused, TheAnswerComesAndTheRestIsDropped) {
  ServiceSettings settings = loopback();
  settings.defaults.limits.max_input_bytes = 1'000'000;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  struct Case {
    int status;
    Fields fields;
    std::size_t bytes = kBodyBytes;
  };
  Fields wrong_type = get_fields("/v1/resize", "POST");
  wrong_type.emplace_back("content-type", "image/png");
  wrong_type.emplace_back("content-length", std::to_string(kBodyBytes));
  const Case cases[] = {
      {400, post_fields("/v1/resize?size=zz", kBodyBytes)},
      {404, post_fields("/v1/nothing", kBodyBytes)},
      {405, get_fields("/v1/resize", "PUT")},
      {413, post_fields("/v1/resize", 3'000'000), 3'000'000},
      {415, wrong_type},
      {400, get_fields("/v1/resize?size=zz", "POST")},
  };
  for (const Case& one : cases) {
    const std::int32_t stream = client.begin(one.fields, false);
    EXPECT_EQ(client.answer(stream).status, one.status);
    expect_body_is_dropped(client, stream, one.bytes);
  }
  expect_still_serving(server);
}

TEST(HttpHttp2Refused, BusyServersSayWhenToTryAgain) {
  ServiceSettings settings = loopback();
  settings.queue = 1;
  TlsServer server(settings);
  auto held = hold_requests(server.server, 1);
  ASSERT_EQ(held.size(), 1u);
  Http2Client client(server.endpoint());
  const std::int32_t stream = client.begin(post_fields("/v1/resize", kBodyBytes), false);
  const Http2Answer answer = client.answer(stream);
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.field("retry-after"), "1");
  expect_body_is_dropped(client, stream, kBodyBytes);
}

// What a body that is dropped takes: a stream of its connection, and nothing of anybody else's.
TEST(HttpHttp2Refused, BodiesThatAreDroppedHoldNoRoomAndEnd) {
  TlsServer server(impatient());
  Http2Client client(server.endpoint());
  const std::int32_t late = client.begin(post_fields("/v1/resize", 5'000'000), false);
  EXPECT_EQ(client.answer(late).status, 408);
  std::vector<std::int32_t> streams = {late};
  while (streams.size() < 20) {
    streams.push_back(client.begin(post_fields("/v1/resize?size=zz", 5'000'000), false));
    EXPECT_EQ(client.answer(streams.back()).status, 400);
  }
  EXPECT_EQ(server.server.server().state().requests, 0u);
  // The last answer has been read, which the server may still have to hear of.
  EXPECT_TRUE(within_a_minute([&] { return server.server.server().state().bytes == 0; }));
  // Nothing of them comes: each is reset, without a word of an error, after --read-timeout.
  std::size_t resets = 0;
  while (resets < streams.size()) {
    const auto frame = client.receive();
    ASSERT_TRUE(frame) << resets;
    if (frame->type != NGHTTP2_RST_STREAM) continue;
    EXPECT_EQ(frame->number(), NGHTTP2_NO_ERROR);
    ++resets;
  }
  EXPECT_LE(client.granted(streams.back()), kMaxOpenBytes);
  EXPECT_EQ(client.ask(get_fields("/livez")).status, 200);
  expect_still_serving(server);
}

TEST(HttpHttp2Refused, BodiesThatAreDroppedDoNotHoldUpTheEnd) {
  ServiceSettings settings = loopback();
  settings.read_timeout_ms = settings.drain_timeout_ms = 50'000;
  TlsServer server(settings);
  Http2Client client(server.endpoint());
  const std::int32_t stream = client.begin(post_fields("/v1/nothing", kBodyBytes), false);
  ASSERT_EQ(client.answer(stream).status, 404);
  const auto begun = Clock::now();
  EXPECT_TRUE(server.server.server().drain());
  EXPECT_LT(Clock::now() - begun, 30s);
}

}  // namespace
}  // namespace framewire::service::http::test
