// Heads of answers: what is read of them, and which are given up.
#include <gtest/gtest.h>
#include <initializer_list>
#include <store/http_answer_head.hpp>
#include <string>

namespace framewire::store {
namespace {

/// @return whether all lines were taken, the empty one behind them included
bool take(HttpAnswerHead& head, std::initializer_list<std::string> lines) {
  for (const std::string& line : lines) {
    if (!head.take(line + "\r\n")) return false;
  }
  return head.take("\r\n");
}

bool is_taken(std::initializer_list<std::string> fields) {
  HttpAnswerHead head;
  if (!head.take("HTTP/1.1 200 OK\r\n")) return false;
  return take(head, fields);
}

TEST(HttpAnswerHead, ItsFields) {
  HttpAnswerHead head;
  EXPECT_FALSE(head.complete());
  ASSERT_TRUE(take(head, {"HTTP/1.1 100 Continue", "ETag: \"interim\""}));
  EXPECT_FALSE(head.complete());
  ASSERT_TRUE(take(head, {"HTTP/1.1 206 Partial Content", "CONTENT-length:\t 10 ",
                          "Content-Range: bytes 0-9/100", "etag: \"e\"", "Vary: accept",
                          "x-amz-meta-framewire-write: w", "x-amz-meta-framewire-mark: m",
                          "Location: /a", "Unknown: x"}));
  EXPECT_TRUE(head.complete());
  EXPECT_EQ(head.status, 206U);
  EXPECT_EQ(head.length, 10U);
  EXPECT_EQ(head.content_range, "bytes 0-9/100");
  EXPECT_EQ(head.etag, "\"e\"");
  EXPECT_EQ(head.vary, "accept");
  EXPECT_EQ(head.write_id, "w");
  EXPECT_EQ(head.mark, "m");
  EXPECT_EQ(head.location, "/a");
  EXPECT_EQ(head.locations, 1U);
  EXPECT_FALSE(head.is_redirect());
  ASSERT_TRUE(head.take("ETag: \"trailer\"\r\n"));
  ASSERT_TRUE(head.take("no field\r\n"));
  EXPECT_EQ(head.etag, "\"e\"");
}

TEST(HttpAnswerHead, ValuesThatAreTooLongOrNoTextAreAbsent) {
  HttpAnswerHead head;
  ASSERT_TRUE(take(head, {"HTTP/1.1 302 Found", "ETag: " + std::string(1'025, 'e'),
                          "Expires: a\x01z", "Cache-Control: " + std::string(1'024, 'c'),
                          "Location: /" + std::string(9'000, 'l')}));
  EXPECT_TRUE(head.is_redirect());
  EXPECT_EQ(head.etag, "");
  EXPECT_EQ(head.expires, "");
  EXPECT_EQ(head.cache_control.size(), 1'024U);
  EXPECT_EQ(head.location, "");
  EXPECT_EQ(head.locations, 1U);
}

TEST(HttpAnswerHead, CodingsAddUp) {
  const auto coding = [](std::initializer_list<std::string> fields) {
    HttpAnswerHead head;
    EXPECT_TRUE(head.take("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(take(head, fields));
    return head.content_encoding;
  };
  EXPECT_EQ(coding({"Content-Encoding: Identity", "Content-Encoding:"}), "");
  EXPECT_EQ(coding({"Content-Encoding: gzip", "Content-Encoding: identity"}), "gzip");
  EXPECT_EQ(coding({"Content-Encoding: br", "Content-Encoding: gzip"}), "br, gzip")
      << "the last alone would be taken for all";
  EXPECT_EQ(coding({"Content-Encoding: gzip", "Content-Encoding: gzip"}), "gzip, gzip");
}

TEST(HttpAnswerHeadAttack, WhatOthersMayReadOtherwiseIsGivenUp) {
  EXPECT_TRUE(is_taken({"Content-Length: 1", "Content-Length: 1"}));
  EXPECT_TRUE(is_taken({"Transfer-Encoding: chunked"}));
  EXPECT_FALSE(is_taken({"Content-Length: 1", "Content-Length: 2"}));
  EXPECT_FALSE(is_taken({"Content-Length: 1", "Transfer-Encoding: chunked"}));
  EXPECT_FALSE(is_taken({"Transfer-Encoding: chunked", "Content-Length: 1"}));
  for (const char* const length : {"", "-1", "+1", "1 2", "0x1", "1,1", "18446744073709551616"}) {
    EXPECT_FALSE(is_taken({"Content-Length: " + std::string(length)})) << length;
  }
  EXPECT_FALSE(is_taken({"Content-Length : 1"}));
  EXPECT_FALSE(is_taken({"ETag: a", " folded: b"}));
  EXPECT_FALSE(is_taken({"\tfolded"}));
  EXPECT_FALSE(is_taken({": no name"}));
  EXPECT_FALSE(is_taken({"no colon"}));
}

TEST(HttpAnswerHeadAttack, StatusLinesAndBounds) {
  for (const char* const line :
       {"HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 99", "HTTP/1.1 -20", "HTTP/1.1 2x0", "ETag: e", ""}) {
    HttpAnswerHead head;
    EXPECT_FALSE(head.take(line)) << line;
  }
  HttpAnswerHead many;
  ASSERT_TRUE(many.take("HTTP/1.1 200 OK"));
  for (unsigned i = 1; i < HttpAnswerHead::kMaxLines; ++i) ASSERT_TRUE(many.take("a: b"));
  EXPECT_FALSE(many.take("a: b"));
  HttpAnswerHead interim;
  unsigned lines = 0;
  while (interim.take("HTTP/1.1 100 x")) ++lines;
  EXPECT_EQ(lines, HttpAnswerHead::kMaxLines) << "interim answers count against the same bounds";
  HttpAnswerHead large;
  ASSERT_TRUE(large.take("HTTP/1.1 200 OK"));
  EXPECT_FALSE(large.take("a: " + std::string(HttpAnswerHead::kMaxBytes, 'x')));
}

TEST(HttpAnswerHead, ContentRanges) {
  const auto range = parse_content_range("Bytes 5-9/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5U);
  EXPECT_EQ(range->last, 9U);
  EXPECT_EQ(range->object_bytes, 100U);
  const auto open = parse_content_range("bytes 5-9/*");
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->object_bytes);
  for (const char* const text :
       {"", "bytes", "bytes ", "bytes 5-9", "bytes 9-5/100", "bytes 5-100/100", "bytes */100",
        "bytes 0-18446744073709551615/0", "bytes 5/9-100", "bytes -9/100", "rows 5-9/100",
        "bytes 5-9/100, bytes 10-11/100"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

TEST(HttpAnswerHead, ListsAreOfAllLines) {
  HttpAnswerHead head;
  ASSERT_TRUE(take(head, {"HTTP/1.1 200 OK", "Cache-Control: private", "Vary: accept",
                          "cache-control:", "Cache-Control: max-age=60", "Vary: *"}));
  EXPECT_EQ(head.cache_control, "private, max-age=60");
  EXPECT_EQ(head.vary, "accept, *");
}

TEST(HttpAnswerHead, ListsThatCannotBeReadAreTheStrictest) {
  const std::string half(HttpAnswerHead::kMaxValueBytes / 2 + 1, 'x');
  for (const std::string& more : {half, std::string("a\x01")}) {
    HttpAnswerHead head;
    ASSERT_TRUE(take(head, {"HTTP/1.1 200 OK", "Cache-Control: " + half, "Vary: " + half,
                            "Cache-Control: " + more, "Vary: " + more, "Cache-Control: public"}));
    EXPECT_EQ(head.cache_control, "no-store, public");
    EXPECT_EQ(head.vary, "*");
  }
}

}  // namespace
}  // namespace framewire::store
