// Heads of requests: what is read, what is refused, and that Beast reads what we accept alike.
#include <gtest/gtest.h>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <random>
#include <service/http/head.hpp>

namespace framewire::service::http {
namespace {

using namespace std::string_literals;

tl::expected<Head, HeadError> parse(std::string_view text) { return parse_head(text, {}); }

std::string request(std::string_view fields, std::string_view line = "GET / HTTP/1.1") {
  return std::string(line) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

TEST(HttpHead, ReadsLineAndFields) {
  const std::string text =
      "POST /v1/resize?size=1x HTTP/1.1\r\nHost: a:80\r\nX-A:\t b c \t\r\ncontent-LENGTH: 12\r\n"
      "Connection: foo, Close\r\nExpect: 100-Continue\r\n\r\n";
  const auto head = parse(text);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/v1/resize?size=1x");
  EXPECT_EQ(head->get("x-a"), "b c");
  EXPECT_EQ(head->content_length, 12u);
  EXPECT_FALSE(head->keep_alive);
  EXPECT_TRUE(head->expects_continue);
  EXPECT_FALSE(head->chunked);
}

TEST(HttpHead, KeepsAliveAsItsVersionSays) {
  EXPECT_TRUE(parse(request(""))->keep_alive);
  EXPECT_FALSE(parse(request("", "GET / HTTP/1.0"))->keep_alive);
  EXPECT_TRUE(parse(request("Connection: keep-alive\r\n", "GET / HTTP/1.0"))->keep_alive);
  EXPECT_FALSE(parse(request("Connection: keep-alive\r\nConnection: close\r\n"))->keep_alive);
}

TEST(HttpHead, TakesAbsoluteTargetsApart) {
  const std::string absolute = request("", "GET http://b/c?d HTTP/1.1");
  EXPECT_EQ(parse(absolute)->target, "/c?d");
  EXPECT_EQ(parse(request("", "GET HTTPS://b HTTP/1.1"))->target, "/");
  EXPECT_EQ(parse(request("", "OPTIONS * HTTP/1.1"))->target, "*");
}

struct Refused {
  const char* name;
  std::string text;
  HeadFault fault = HeadFault::kMalformed;
};

class HttpHeadAttack : public testing::TestWithParam<Refused> {};

TEST_P(HttpHeadAttack, IsRefused) {
  std::size_t seen = 0;
  const auto end = find_head_end(GetParam().text, seen, {});
  if (!end) {
    EXPECT_EQ(end.error().fault, GetParam().fault);
    return;
  }
  ASSERT_EQ(*end, GetParam().text.size()) << "the head was to be whole";
  const auto head = parse(GetParam().text);
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().fault, GetParam().fault) << head.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Smuggling, HttpHeadAttack,
    testing::Values(
        Refused{"LengthAndCoding", request("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")},
        Refused{"CodingAndLength", request("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n")},
        Refused{"TwoLengths", request("Content-Length: 3\r\nContent-Length: 4\r\n")},
        Refused{"TwoEqualLengths", request("Content-Length: 3\r\nContent-Length: 3\r\n")},
        Refused{"ListOfLengths", request("Content-Length: 3, 3\r\n")},
        Refused{"SignedLength", request("Content-Length: +3\r\n")},
        Refused{"NegativeLength", request("Content-Length: -3\r\n")},
        Refused{"HexadecimalLength", request("Content-Length: 0x3\r\n")},
        Refused{"EmptyLength", request("Content-Length: \r\n")},
        Refused{"HugeLength", request("Content-Length: 99999999999999999999\r\n")},
        Refused{"FoldedField", request("X: a\r\n b\r\n")},
        Refused{"FoldedWithTab", request("X: a\r\n\tb\r\n")},
        Refused{"FoldedFirstField", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"s},
        Refused{"BareLineFeed", "GET / HTTP/1.1\nHost: a\r\n\r\n"s},
        Refused{"BareLineFeedInFields", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"s},
        Refused{"BareCarriageReturn", request("X: a\rY: b\r\n")},
        Refused{"Nul", "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"s},
        Refused{"SpaceBeforeColon", request("Content-Length : 3\r\n")},
        Refused{"TabBeforeColon", request("Transfer-Encoding\t: chunked\r\n")},
        Refused{"NoColon", request("Content-Length 3\r\n")},
        Refused{"EmptyName", request(": 3\r\n")},
        Refused{"NameOfOtherBytes", request("X\xC3\xA4: 3\r\n")},
        Refused{"ControlInValue", request("X: a\x01\r\n")},
        Refused{"OtherCoding", request("Transfer-Encoding: gzip, chunked\r\n"),
                HeadFault::kTransferEncoding},
        Refused{"IdentityCoding", request("Transfer-Encoding: identity\r\n"),
                HeadFault::kTransferEncoding},
        Refused{"QuotedCoding", request("Transfer-Encoding: \"chunked\"\r\n"),
                HeadFault::kTransferEncoding},
        Refused{"VerticalTabCoding", request("Transfer-Encoding: \x0B"
                                             "chunked\r\n")},
        Refused{"CodingTwice",
                request("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
        Refused{"CodingInHttp10", request("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0")},
        Refused{"TwoHosts", request("Host: b\r\n")}, Refused{"NoHost", "GET / HTTP/1.1\r\n\r\n"s},
        Refused{"HostWithUser", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"s},
        Refused{"SpaceInTarget", request("", "GET /a b HTTP/1.1")},
        Refused{"TwoSpaces", request("", "GET  / HTTP/1.1")},
        Refused{"TabInLine", request("", "GET\t/\tHTTP/1.1")},
        Refused{"TrailingSpace", request("", "GET / HTTP/1.1 ")},
        Refused{"Version2", request("", "GET / HTTP/2.0"), HeadFault::kVersion},
        Refused{"Version12", request("", "GET / HTTP/1.2"), HeadFault::kVersion},
        Refused{"LowerCaseVersion", request("", "GET / http/1.1")},
        Refused{"Http09", "GET /\r\n\r\n"s},
        Refused{"RelativeTarget", request("", "GET a HTTP/1.1")},
        Refused{"Authority", request("", "CONNECT a:443 HTTP/1.1")},
        Refused{"OtherScheme", request("", "GET ftp://a/b HTTP/1.1")},
        Refused{"EmptyAuthority", request("", "GET http:///b HTTP/1.1")},
        Refused{"NoListOfWords", request("Connection: clo\tse\r\n")},
        Refused{"Expectation", request("Expect: 200-ok\r\n"), HeadFault::kExpectation},
        Refused{"MethodOfOtherBytes", request("", "G\x80T / HTTP/1.1")},
        Refused{"LongTarget", request("", "GET /" + std::string(17'000, 'a') + " HTTP/1.1"),
                HeadFault::kTargetTooLong},
        Refused{"LongHead", request("X: " + std::string(40'000, 'a') + "\r\n"),
                HeadFault::kHeadTooLong},
        Refused{"EndlessTarget", "GET /" + std::string(40'000, 'a'), HeadFault::kTargetTooLong},
        Refused{"ManyFields", request([] {
                  std::string all;
                  for (int i = 0; i < 101; ++i) all += "A: b\r\n";
                  return all;
                }()),
                HeadFault::kHeadTooLong}),
    [](const auto& test) { return test.param.name; });

TEST(HttpHead, ComesByteByByte) {
  const std::string text = request("X: y\r\n") + "rest";
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size() - 4; ++i) {
    ASSERT_EQ(find_head_end(std::string_view(text).substr(0, i), seen, {}).value(), 0u) << i;
  }
  EXPECT_EQ(find_head_end(text, seen, {}).value(), text.size() - 4);
}

// What we accept Beast accepts, too, and reads in the same way.
void compare_with_beast(const std::string& text, const Head& head) {
  namespace beast = boost::beast::http;
  beast::request_parser<beast::empty_body> parser;
  parser.eager(false);
  parser.header_limit(1u << 20);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(text), error);
  ASSERT_FALSE(error) << error.message() << "\n" << text;
  ASSERT_EQ(used, text.size()) << text;
  ASSERT_TRUE(parser.is_header_done());
  const auto& message = parser.get();
  EXPECT_EQ(std::string_view(message.method_string().data(), message.method_string().size()),
            head.method);
  EXPECT_TRUE(std::string_view(message.target().data(), message.target().size())
                  .ends_with(head.target == "/" ? "" : head.target));
  EXPECT_EQ(static_cast<std::size_t>(std::distance(message.begin(), message.end())),
            head.fields.size());
  EXPECT_EQ(parser.chunked(), head.chunked);
  EXPECT_EQ(parser.content_length().value_or(0), head.content_length.value_or(0));
}

TEST(HttpBeastAttack, BeastReadsAlikeWhatIsAccepted) {
  const std::string seeds[] = {
      request("Content-Length: 12\r\nX-Long: a b\tc\r\n", "POST /v1/resize?size=1x HTTP/1.1"),
      request("Transfer-Encoding: chunked\r\nConnection: close\r\n", "POST /a HTTP/1.1"),
      request("Expect: 100-continue\r\nAccept: */*\r\nContent-Length: 0\r\n"),
      request("", "GET http://a/b HTTP/1.1")};
  constexpr std::string_view kBytes = "\r\n \t:,;\0az09-\x7F\xC3/?*\"";
  std::mt19937 random(7);  // the same in every run
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seeds[random() % std::size(seeds)];
    for (auto change = random() % 3; change > 0; --change) {
      const std::size_t at = random() % text.size();
      const char c = kBytes[random() % kBytes.size()];
      if (random() % 3 == 0) {
        text.erase(at, 1);
      } else if (random() % 2 == 0) {
        text.insert(at, 1, c);
      } else {
        text[at] = c;
      }
    }
    std::size_t seen = 0;
    const auto end = find_head_end(text, seen, {});
    if (!end || *end != text.size()) continue;
    const auto head = parse(text);
    if (!head) continue;
    ++accepted;
    compare_with_beast(text, *head);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace framewire::service::http
