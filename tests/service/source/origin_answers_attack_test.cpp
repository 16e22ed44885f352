// Answers of origins that are none, contradict themselves, or never end.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <future>
#include <tests/service/support/gzip.hpp>
#include <tests/service/support/origin.hpp>
#include <thread>

namespace framewire::service::source {
namespace {

using std::chrono::milliseconds;
using test::answering;
using test::Connection;
using test::ok;
using test::Origin;
using test::remote;

constexpr const char* kUrl = "http://images.test/a.jpg";

// One answer, byte for byte, and the end of the connection.
std::function<void(Connection&)> once(std::string bytes) {
  return [bytes = std::move(bytes)](Connection& connection) {
    if (!connection.read_head().empty()) connection.send(bytes);
  };
}

struct Answer {
  const char* what;
  std::string bytes;
  FetchErrorKind kind;
};

TEST(OriginAttack, AnswersThatAreNone) {
  using enum FetchErrorKind;
  const std::string line = "HTTP/1.1 200 OK\r\n";
  const std::string length = "Content-Length: 5\r\n";
  const Answer kAnswers[] = {
      {"nothing", "", kConnect},
      {"half a status line", "HTTP/1.1 20", kConnect},
      {"HTTP/0.9", "bytes", kBadAnswer},
      {"random bytes", std::string("\0\1\2\3\r\n\r\n", 8), kBadAnswer},
      {"a page of HTML", "<html><body>hello</body></html>\r\n\r\n", kBadAnswer},
      {"shorter than said", line + "Content-Length: 100\r\n\r\nbytes", kTruncated},
      {"chunks without an end", line + "Transfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n",
       kTruncated},
      {"a chunk cut off", line + "Transfer-Encoding: chunked\r\n\r\n50\r\nbytes", kTruncated},
      {"chunks of no size", line + "Transfer-Encoding: chunked\r\n\r\nzz\r\nbytes\r\n", kTruncated},
      {"a head cut off", line + "Content-Le", kBadAnswer},
      {"two lengths", line + length + "Content-Length: 6\r\n\r\nbytes!", kBadAnswer},
      {"a length and chunks",
       line + length + "Transfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n0\r\n\r\n", kBadAnswer},
      {"chunks and a length", line + "Transfer-Encoding: chunked\r\n" + length + "\r\nbytes",
       kBadAnswer},
      {"a negative length", line + "Content-Length: -5\r\n\r\nbytes", kBadAnswer},
      {"a length of no number", line + "Content-Length: 5, 5\r\n\r\nbytes", kBadAnswer},
      {"a length beyond all numbers", line + "Content-Length: 99999999999999999999999\r\n\r\nbytes",
       kBadAnswer},
      {"a folded line", line + "X-A: 1\r\n b\r\n" + length + "\r\nbytes", kBadAnswer},
      {"a space in a name", line + "Content-Length : 5\r\n\r\nbytes", kBadAnswer},
      {"no gzip", line + "Content-Encoding: gzip\r\n" + length + "\r\nbytes", kBadAnswer},
      {"deflate", line + "Content-Encoding: deflate\r\n" + length + "\r\nbytes", kContentEncoding},
      {"gzip of gzip", line + "Content-Encoding: gzip, gzip\r\n" + length + "\r\nbytes",
       kContentEncoding},
      {"gzip twice",
       line + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n" + length + "\r\nbytes",
       kContentEncoding},
      {"brotli behind identity",
       line + "Content-Encoding: identity\r\nContent-Encoding: br\r\n" + length + "\r\nbytes",
       kContentEncoding},
      {"a redirect to nowhere", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", kBadRedirect},
      {"a redirect to two places",
       "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
       kBadRedirect},
      {"a redirect with a password",
       "HTTP/1.1 302 Found\r\nLocation: http://a:b@images.test/\r\nContent-Length: 0\r\n\r\n",
       kBadRedirect},
  };
  for (const Answer& answer : kAnswers) {
    Origin origin(once(answer.bytes));
    const auto original = origin.fetch(kUrl);
    ASSERT_FALSE(original) << answer.what;
    EXPECT_EQ(original.error().kind, answer.kind)
        << answer.what << ": " << to_string(original.error().kind) << ' '
        << original.error().message;
  }
}

// A length that fits says nothing of what was packed.
TEST(OriginAttack, GzipThatIsNotWholeIsNoOriginal) {
  const std::string packed = test::gzip_stored(std::string(100'000, 'x') + "end");
  const auto answer_to = [](const std::string& body) {
    return once(test::ok(body, "Content-Encoding: gzip\r\n"));
  };
  for (const std::size_t cut :
       {packed.size() / 2, packed.size() - 8, packed.size() - 1, std::size_t{0}}) {
    Origin origin(answer_to(packed.substr(0, cut)));
    const auto original = origin.fetch(kUrl);
    ASSERT_FALSE(original) << cut;
    EXPECT_EQ(original.error().kind, FetchErrorKind::kTruncated) << cut;
  }
  std::string wrong = packed;
  wrong[packed.size() - 8] ^= 1;  // its checksum
  for (const std::string& body : {wrong, packed + "more"}) {
    Origin origin(answer_to(body));
    const auto original = origin.fetch(kUrl);
    ASSERT_FALSE(original);
    EXPECT_EQ(original.error().kind, FetchErrorKind::kBadAnswer) << original.error().message;
  }
}

// Few bytes that become many end by the bound of what they become.
TEST(OriginAttack, WhatIsUnpackedHasTheBoundOfAnOriginal) {
  const std::string packed = test::gzip_bomb();
  const std::string bytes = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                            std::to_string(packed.size()) + "\r\n\r\n" + packed;
  source::SourceSettings settings = remote();
  settings.max_bytes = 299'999;
  Origin less(once(bytes), settings);
  const auto refused = less.fetch(kUrl);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, FetchErrorKind::kTooLarge) << refused.error().message;
  settings.max_bytes = 300'000;
  Origin enough(once(bytes), settings);
  const auto taken = enough.fetch(kUrl);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->bytes.size(), 300'000u);
  // Cut off in the middle, with a length that fits.
  const std::string half = packed.substr(0, packed.size() / 2);
  Origin short_one(once("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                        std::to_string(half.size()) + "\r\n\r\n" + half));
  const auto cut = short_one.fetch(kUrl);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, FetchErrorKind::kTruncated) << cut.error().message;
}

// Answers that go on for ever: each must end by a bound in bytes, long before the time is over.
TEST(OriginAttack, EndlessAnswersEndByTheirBounds) {
  using enum FetchErrorKind;
  const std::string line = "HTTP/1.1 200 OK\r\n";
  const struct {
    const char* what;
    std::string begin;
    std::string repeat;
    FetchErrorKind kind;
  } kAnswers[] = {
      {"header lines", line, "X-Header: value\r\n", kBadAnswer},
      {"long header lines", line, "X-Header: " + std::string(20'000, 'x') + "\r\n", kBadAnswer},
      {"one header line", line + "X-Header: ", std::string(10'000, 'x'), kBadAnswer},
      {"one status line", "HTTP/1.1 200 ", std::string(10'000, 'x'), kBadAnswer},
      {"interim answers", "", "HTTP/1.1 100 Continue\r\n\r\n", kBadAnswer},
      {"early hints", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", kBadAnswer},
      {"trailers", line + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "X-Trailer: 1\r\n",
       kBadAnswer},
      {"chunks", line + "Transfer-Encoding: chunked\r\n\r\n",
       "8000\r\n" + std::string(0x8000, 'x') + "\r\n", kTooLarge},
      {"chunks of a byte", line + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", kTooLarge},
      // Read past by libcurl, without memory: bytes that are no body are too slow a body.
      // Read past by libcurl, without memory: bytes that are no body are too slow a body.
      {"a chunk's extensions", line + "Transfer-Encoding: chunked\r\n\r\n1;",
       std::string(9'000, 'x'), kTimeout},
      {"a body without a length", line + "Connection: close\r\n\r\n", std::string(50'000, 'x'),
       kTooLarge},
      {"the body of an error", "HTTP/1.1 404 Not Found\r\n\r\n", std::string(50'000, 'x'),
       kOriginStatus},
      {"the body of a redirect", "HTTP/1.1 302 Found\r\nLocation: local:///a\r\n\r\n",
       std::string(50'000, 'x'), kSchemeNotAllowed},
  };
  for (const auto& answer : kAnswers) {
    SourceSettings settings = remote();
    settings.download_timeout = milliseconds(30'000);
    settings.max_bytes = 200'000;
    Origin origin(
        [&](Connection& connection) {
          if (connection.read_head().empty() || !connection.send(answer.begin)) return;
          while (connection.open() && connection.send(answer.repeat)) continue;
        },
        settings);
    const auto original = origin.fetch(kUrl);
    ASSERT_FALSE(original) << answer.what;
    EXPECT_EQ(original.error().kind, answer.kind)
        << answer.what << ": " << to_string(original.error().kind) << ' '
        << original.error().message;
  }
}

// One thread serves all origins: what a few bytes unpack to does not hold it up for the others.
TEST(OriginAttack, GzipThatUnpacksToMuchGoesOnByTurns) {
  constexpr int kMembers = 100;
  constexpr std::size_t kMemberBytes = 300'000;
  std::string packed;
  for (int i = 0; i < kMembers; ++i) packed += test::gzip_bomb();
  Origin origin(answering([&](const std::string& head) {
    return head.find("/bomb") == std::string::npos ? ok("bytes")
                                                   : ok(packed, "Content-Encoding: gzip\r\n");
  }));
  std::atomic<std::size_t> unpacked = 0;
  FetchRequest bomb;
  bomb.url = "http://images.test/bomb";
  std::atomic<bool> other_came = false;
  bomb.may_hold = [&](std::size_t, std::size_t arrived_bytes) {
    unpacked = arrived_bytes;
    if (!other_came) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return true;
  };
  std::promise<Fetched<Original>> came;
  ASSERT_TRUE(origin.sources->fetch(
      std::move(bomb), [&](Fetched<Original> result) { came.set_value(std::move(result)); }));
  while (unpacked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(origin.fetch("http://other.test/a"));
  EXPECT_LT(unpacked, kMembers * kMemberBytes) << "the other one waited for all of it";
  other_came = true;
  const auto whole = came.get_future().get();
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->bytes.size(), kMembers * kMemberBytes);
  EXPECT_EQ(test::text(*whole).find_first_not_of('\0'), std::string::npos);
}

// What goes wrong in a later turn ends the transfer as it would have in the first.
TEST(OriginAttack, GzipThatIsRefusedInALaterTurnEndsAtOnce) {
  std::string packed;
  for (int i = 0; i < 20; ++i) packed += test::gzip_bomb();
  source::SourceSettings settings = remote();
  settings.max_bytes = 2'000'000;
  Origin large(
      [&](Connection& connection) {
        if (connection.read_head().empty()) return;
        connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + packed);
        connection.stall(60'000);
      },
      settings);
  const auto refused = large.fetch(kUrl);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, FetchErrorKind::kTooLarge) << refused.error().message;
}

// Where the turns end does not show in what comes of it.
TEST(OriginAttack, GzipIsWholeWhereverATurnEnds) {
  std::string body;
  for (std::uint32_t i = 0; i < 100'000; ++i) body += std::to_string(i * 2'654'435'761U);
  const std::string packed = test::gzip_stored(body) + test::gzip_bomb() + test::gzip_stored(body);
  Origin origin(
      answering([&](const std::string&) { return ok(packed, "Content-Encoding: gzip\r\n"); }));
  const auto original = origin.fetch("http://images.test/a");
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_TRUE(test::text(*original) == body + std::string(300'000, '\0') + body);
}

}  // namespace
}  // namespace framewire::service::source
