// The bounds themselves: memory of a session, and frames that bring no request nearer.
#include <gtest/gtest.h>
#include <chrono>
#include <service/http/http2_memory.hpp>
#include <service/http/http2_meter.hpp>
#include <tests/service/http/http2_client.hpp>
#include <vector>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(HttpHttp2MemoryAttack, BoundsWhatOneSessionTakes) {
  Http2Memory memory;
  nghttp2_mem& functions = *memory.functions();
  std::vector<void*> taken;
  while (void* const one = functions.malloc(10'000, functions.mem_user_data)) taken.push_back(one);
  EXPECT_EQ(taken.size(), Http2Memory::kMaxBytes / 10'000);
  EXPECT_EQ(functions.calloc(SIZE_MAX / 2, 4, functions.mem_user_data), nullptr);
  EXPECT_EQ(functions.realloc(taken.front(), 20'000, functions.mem_user_data), nullptr);
  functions.free(taken.back(), functions.mem_user_data);
  functions.free(nullptr, functions.mem_user_data);
  taken.pop_back();
  EXPECT_EQ(memory.used_bytes(), taken.size() * 10'000);
  static_cast<char*>(taken.front())[0] = 'a';
  taken.front() = functions.realloc(taken.front(), 8'000, functions.mem_user_data);
  ASSERT_NE(taken.front(), nullptr);
  EXPECT_EQ(static_cast<char*>(taken.front())[0], 'a');
  // What is left is given back at the end; leak checkers know.
  for (std::size_t i = 0; i < taken.size(); i += 2) {
    functions.free(taken[i], functions.mem_user_data);
  }
}

TEST(HttpHttp2MeterAttack, BearsBurstsAndWhatIsSlow) {
  auto now = Clock::now();
  const std::string preface(24, 'P');
  const std::string ping = frame(NGHTTP2_PING, 0, 0, "12345678");
  FrameMeter meter(now);
  ASSERT_TRUE(meter.feed(preface, now));
  for (int i = 0; i < 512; ++i) {
    // In two halves, so that headers come in pieces.
    ASSERT_TRUE(meter.feed(ping.substr(0, 5), now)) << i;
    ASSERT_TRUE(meter.feed(ping.substr(5), now)) << i;
  }
  EXPECT_FALSE(meter.feed(ping.substr(0, 9), now));
  ASSERT_TRUE(meter.feed(ping.substr(9), now));
  now += 1s;
  for (int i = 0; i < 300; ++i) {
    now += 20ms;
    ASSERT_TRUE(meter.feed(ping, now)) << i;
  }
  // Updates of windows are free where answers go out.
  const std::string update = frame(NGHTTP2_WINDOW_UPDATE, 0, 0, number(1));
  for (int i = 0; i < 2'000; ++i) {
    meter.data_sent();
    ASSERT_TRUE(meter.feed(update + update, now)) << i;
  }
  // Bodies and heads cost nothing, whatever their number.
  const std::string data = frame(NGHTTP2_DATA, 0, 1, std::string(16, 'x'));
  const std::string end = frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1);
  for (int i = 0; i < 2'000; ++i) {
    const std::string head = frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1 + 2 * i, "a");
    ASSERT_TRUE(meter.feed(head + data + end, now)) << i;
  }
  EXPECT_FALSE(meter.in_head());
  EXPECT_EQ(meter.heads(), 2'000u);
  ASSERT_TRUE(meter.feed(frame(NGHTTP2_HEADERS, 0, 5'001, "a"), now));
  EXPECT_TRUE(meter.in_head());
}

}  // namespace
}  // namespace framewire::service::http::test
