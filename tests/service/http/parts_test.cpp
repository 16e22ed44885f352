// Chunked bodies, queries, forms, dates, frame sizes: each by itself.
#include <gtest/gtest.h>
#include <algorithm>
#include <jpeg/gain_map.hpp>
#include <jpeg/mpf.hpp>
#include <service/http/chunked.hpp>
#include <service/http/frame_size.hpp>
#include <service/http/multipart.hpp>
#include <service/http/pace.hpp>
#include <service/http/query.hpp>
#include <service/http/response.hpp>
#include <tests/service/http/client.hpp>

namespace framewire::service::http {
namespace {

using namespace std::string_literals;

// Feeds a text in pieces. @return the body and what is left; an error as "!message"
std::pair<std::string, std::string> unchunk(const std::string& text, std::size_t piece) {
  ChunkDecoder decoder;
  std::string body;
  std::string pending;
  std::size_t given = 0;
  while (true) {
    const auto step = decoder.step(pending);
    if (!step) return {"!" + step.error(), pending};
    body += step->data;
    pending.erase(0, step->consumed);
    if (step->ended) return {body, pending + text.substr(given)};
    if (step->consumed != 0) continue;
    if (given == text.size()) return {"?" + body, pending};
    pending += text.substr(given, piece);
    given = std::min(given + piece, text.size());
  }
}

TEST(HttpChunked, ReadsWhateverThePieces) {
  const std::string text = "4\r\nabcd\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\nrest";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    const auto [body, rest] = unchunk(text, piece);
    EXPECT_EQ(body, "abcd0123456789abcdef") << piece;
    EXPECT_EQ(rest, "rest") << piece;
  }
}

// RFC 9112 7.1.1 lets blanks stand before the `;` of an extension, and nowhere else outside it.
TEST(HttpChunked, BlanksBeforeAnExtensionAreRead) {
  const std::string text = "4 ;x=y\r\nabcd\r\n2 \t ; x = \"y\" \t;z\r\nef\r\n0\t;a\r\n\r\nrest";
  for (const std::size_t piece : {std::size_t{1}, text.size()}) {
    const auto [body, rest] = unchunk(text, piece);
    EXPECT_EQ(body, "abcdef") << piece;
    EXPECT_EQ(rest, "rest") << piece;
  }
}

TEST(HttpChunkedAttack, WhatIsNoChunkIsRefused) {
  for (const std::string& text : {"4\nabcd\r\n0\r\n\r\n"s,
                                  "4 \r\nabcd\r\n"s,
                                  " 4\r\nabcd"s,
                                  "0x4\r\nabcd"s,
                                  "-4\r\nabcd"s,
                                  "+4\r\nabcd"s,
                                  "\r\n"s,
                                  "g\r\n"s,
                                  "4\r\nabcde\r\n"s,
                                  "4\r\nabcd0\r\n"s,
                                  "4\r\nabcd\rx"s,
                                  "fffffffffffffffff\r\n"s,
                                  "4;a\x01\r\n"s,
                                  "0\r\nno field\r\n\r\n"s,
                                  "0\r\nA : b\r\n\r\n"s,
                                  "0\r\n" + std::string(300, 'a') + ": b\r\n\r\n",
                                  std::string(400, '0'),
                                  "1;" + std::string(300, 'a') + "\r\n",
                                  "4\t\r\nabcd\r\n"s,
                                  "4 x;a\r\nabcd\r\n"s,
                                  "4 4;a\r\nabcd\r\n"s,
                                  " 4;a\r\nabcd\r\n"s,
                                  " ;a\r\n"s,
                                  "4\v;a\r\nabcd\r\n"s,
                                  "4 \r;a\r\nabcd\r\n"s,
                                  "4 \n;a\r\nabcd\r\n"s,
                                  "4\xa0;a\r\nabcd\r\n"s,
                                  "4" + std::string(300, ' ') + ";a\r\n"}) {
    EXPECT_EQ(unchunk(text, text.size()).first.front(), '!') << text;
    EXPECT_EQ(unchunk(text, 1).first.front(), '!') << text;
  }
}

TEST(HttpChunkedAttack, ExtensionsAndTrailersAreBounded) {
  std::string extensions;
  for (int i = 0; i < 100; ++i) extensions += "1;" + std::string(100, 'x') + "\r\na\r\n";
  EXPECT_EQ(unchunk(extensions, 1000).first.front(), '!');
  std::string trailers = "0\r\n";
  for (int i = 0; i < 100; ++i) trailers += "A: " + std::string(100, 'x') + "\r\n";
  EXPECT_EQ(unchunk(trailers + "\r\n", 1000).first.front(), '!');
}

TEST(HttpQuery, SetsOptionsByTheirOwnWords) {
  const auto query = parse_query("size=640x&quality=70&progressive&gravity=fp%3A0.25%3a0.5");
  ASSERT_TRUE(query);
  ResizeOptions options;
  ASSERT_TRUE(set_options(options, *query));
  EXPECT_EQ(options.width_px, 640);
  EXPECT_EQ(options.quality, 70);
  EXPECT_TRUE(options.progressive);
  EXPECT_EQ(options.gravity.focus_x, 0.25);
}

TEST(HttpQuery, NamesWhatIsWrong) {
  ResizeOptions options;
  const auto about = [&](std::string_view text) {
    const auto query = parse_query(text);
    if (!query) return query.error().subject();
    const auto set = set_options(options, *query);
    return set ? "" : set.error().subject();
  };
  EXPECT_EQ(about("quality=101"), "quality");
  EXPECT_EQ(about("nonsense=1"), "nonsense");
  EXPECT_EQ(about("background=ffffff"), "background");
  EXPECT_EQ(about("size=1x&size=2x"), "size");
}

TEST(HttpQueryAttack, LimitsAndCodecAreNotTheClients) {
  for (const char* name : {"codec", "max-input-bytes", "max-input-pixels", "max-scans",
                           "max-scan-pixels", "max-output-side", "max-output-pixels", "deadline"}) {
    ResizeOptions options;
    const auto set = set_options(options, {{name, "1"}});
    ASSERT_FALSE(set) << name;
    EXPECT_EQ(set.error().subject(), name);
  }
}

TEST(HttpQueryAttack, EscapesAndNumbersAreBounded) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "a=%00", "a=%0d%0ab", "=1", "a=%7F"}) {
    EXPECT_FALSE(parse_query(text)) << text;
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += "a" + std::to_string(i) + "=1&";
  EXPECT_FALSE(parse_query(many));
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(HttpForm, HasOneFileAndFields) {
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"size\"\r\n\r\n10x\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\\"b.jpg\"\r\n"
      "Content-Type: image/jpeg\r\n\r\n\r\n--x\r\n\r\n--b--\r\n";
  const auto form = parse_form(bytes_of(body), "b");
  ASSERT_TRUE(form) << form.error().to_string();
  EXPECT_EQ(std::string(form->file.begin(), form->file.end()), "\r\n--x\r\n");
  ASSERT_EQ(form->fields.size(), 1u);
  EXPECT_EQ(form->fields[0], std::pair("size"s, "10x"s));
}

TEST(HttpForm, IsReadAsOddClientsSendIt) {
  const auto part = [](const std::string& parameters, const std::string& data) {
    return "--b \t\r\nContent-Disposition: form-data; " + parameters + "\r\n\r\n" + data + "\r\n";
  };
  const std::string file = part("name=p; filename=a.jpg", "x");
  const std::string not_chosen = part("name=\"q\"; filename=\"\"", "");
  for (const std::string& body :
       {"\r\n" + file, "no part\r\n" + file, not_chosen + file, file + not_chosen,
        part("name=\"p\"; filename*=utf-8''%C3%A9.jpg", "x")}) {
    const auto form = parse_form(bytes_of(body + "--b--\r\n"), "b");
    ASSERT_TRUE(form) << body << form.error().to_string();
    EXPECT_EQ(std::string(form->file.begin(), form->file.end()), "x") << body;
    EXPECT_TRUE(form->fields.empty()) << body;
  }
  const auto none = parse_form(bytes_of(not_chosen + "--b--\r\n"), "b");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("no file"), std::string::npos);
  EXPECT_FALSE(parse_form(bytes_of("no boundary"), "b"));
}

TEST(HttpForm, NamesItsBoundary) {
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=ab"), "ab");
  EXPECT_EQ(form_boundary("Multipart/Form-Data; charset=x; BOUNDARY=\"a b\""), "a b");
  EXPECT_EQ(form_boundary("image/jpeg"), std::nullopt);
  EXPECT_EQ(form_boundary("multipart/form-data"), "");
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=" + std::string(71, 'a')), "");
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=\"a\nb\""), "");
}

// Runs of what a boundary begins with, and boundaries that are almost there.
TEST(HttpFormAttack, AlmostBoundariesArePartOfTheFile) {
  std::string file;
  for (int i = 0; i < 1000; ++i) file += "\r\r\n-\r\n--\r\n--boundar\r";
  const std::string body = "--boundary\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" +
                           file + "\r\n--boundary--";
  const auto form = parse_form(bytes_of(body), "boundary");
  ASSERT_TRUE(form);
  EXPECT_EQ(std::string(form->file.begin(), form->file.end()), file);
}

TEST(HttpFormAttack, EveryCutOfAFormIsRefused) {
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"size\"\r\n\r\n10x\r\n--b--";
  ASSERT_TRUE(parse_form(bytes_of(body), "b"));
  for (std::size_t cut = 0; cut < body.size(); ++cut) {
    EXPECT_FALSE(parse_form(bytes_of(std::string_view(body).substr(0, cut)), "b")) << cut;
  }
}

TEST(HttpFormAttack, PartsAndFieldsAreBounded) {
  const auto part = [](const std::string& name, const std::string& data) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + data + "\r\n";
  };
  EXPECT_TRUE(parse_form(bytes_of(part("file", "x") + "--b--"), "b"));
  EXPECT_FALSE(parse_form(bytes_of(part("file", "x") + part("image", "y") + "--b--"), "b"));
  EXPECT_FALSE(parse_form(bytes_of(part("a", "x") + "--b--"), "b"));
  EXPECT_FALSE(
      parse_form(bytes_of(part("file", "x") + part("a", std::string(257, 'x')) + "--b--"), "b"));
  EXPECT_FALSE(parse_form(bytes_of(part("file", "x") + part("a", "x\ny") + "--b--"), "b"));
  EXPECT_FALSE(
      parse_form(bytes_of(part("file", "x") + part("a", "1") + part("a", "2") + "--b--"), "b"));
  std::string many = part("file", "x");
  for (int i = 0; i < 64; ++i) many += part("a" + std::to_string(i), "1");
  EXPECT_FALSE(parse_form(bytes_of(many + "--b--"), "b"));
}

TEST(HttpForm, NamesWhatIsWrong) {
  const auto told = [](const std::string& head, const std::string& data) {
    const auto form = parse_form(bytes_of("--b\r\n" + head + "\r\n\r\n" + data + "\r\n--b--"), "b");
    return form ? std::string("accepted") : form.error().message();
  };
  const std::string named = "Content-Disposition: form-data; name=\"";
  EXPECT_EQ(told(named + "\"", "1"),
            "found a field without a name; accepted: the name of an option");
  EXPECT_EQ(told(named + std::string(257, 'a') + "\"", "1"),
            "found a field whose name has 257 bytes; accepted: at most 256");
  EXPECT_EQ(
      told(named + "a\"", std::string(257, '1')),
      "a field is longer than 256 bytes, and no file: that has a file name, or is called file "
      "or image");
  EXPECT_EQ(told(named + "a\"\r\nX: " + std::string(4096, 'x'), "1"),
            "a part's head is too long; accepted: less than 4096 bytes");
  const auto cut = parse_form(bytes_of("--b\r\n" + named), "b");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message(), "the form ends inside a part's head");
}

TEST(HttpDates, ReadBackAsWritten) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const std::int64_t time : {0LL, 784111777LL, 1764000000LL, 4102444800LL}) {
    EXPECT_EQ(parse_http_date(http_date(time)), time);
  }
  for (const char* text : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                           "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 25:49:37 GMT",
                           "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(text), -1) << text;
  }
}

TEST(HttpResponseAttack, NoValueBeginsALine) {
  Response response;
  response.add_field("X", "a\r\nSet-Cookie: b\n\x7F");
  EXPECT_EQ(response.fields, "X: a__Set-Cookie: b__\r\n");
  EXPECT_EQ(json_escaped("a\"\\\n\xFF\xC3\xA4"), "a\\\"\\\\\\u000a\xEF\xBF\xBD\xC3\xA4");
  // C1, a line separator, an override and an isolate of direction; what is text stays.
  EXPECT_EQ(json_escaped("\xC2\x9B"
                         "2J\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x93"),
            "\\u009b"
            "2J\\u2028\\u202e\\u2066\xE2\x80\x93");
  // Marks of direction.
  EXPECT_EQ(json_escaped("\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F"), "\\u061c\\u200e\\u200f");
}

TEST(HttpPace, TimeIsForBytesThatMove) {
  using namespace std::chrono_literals;
  Pace pace;
  const Pace::Clock::time_point begun{};
  pace.begin(begun, 10s);
  EXPECT_FALSE(pace.is_late(0, begun + 9s));
  EXPECT_TRUE(pace.is_late(0, begun + 10s));
  // One second for what comes in one, at the least pace.
  EXPECT_FALSE(pace.is_late(kMinBytesPerSecond, begun + 10s));
  EXPECT_EQ(pace.deadline(), begun + 11s);
  EXPECT_TRUE(pace.is_late(1, begun + 12s)) << "a byte is little time";
  // What comes fast is no reason to wait for long.
  EXPECT_FALSE(pace.is_late(~std::uint64_t{0}, begun + 12s));
  EXPECT_EQ(pace.deadline(), begun + 22s);
}

TEST(HttpPace, WhatGoesOutInFrontOfAnAnswerCountsForIt) {
  SharedProgress progress;
  progress.begin(1000, 50);
  EXPECT_EQ(progress.take(1000, 250, true), 200u) << "others' answers go first";
  progress.frame_ends_at(900);
  // The window is closed by what is on its way; 900 and 1,100 are what comes before and behind it.
  EXPECT_EQ(progress.take(936, 650, false), 400u);
  EXPECT_EQ(progress.take(936, 1100, false), 250u);
  EXPECT_EQ(progress.take(936, 5000, false), 0u) << "the client has it all, and wants no more";
  progress.frame_ends_at(5100);
  EXPECT_EQ(progress.take(836, 5000, false), 100u) << "its own count in any case";
  EXPECT_EQ(progress.take(836, 5300, true), 300u);
}

TEST(HttpFrameSize, IsThatOfTheFirstFrame) {
  const auto jpeg = test::make_jpeg(64, 48);
  EXPECT_EQ(count_frame_pixels(jpeg), 64u * 48u);
  EXPECT_EQ(count_frame_pixels({}), 0u);
  for (std::size_t cut = 0; cut < jpeg.size(); ++cut) {
    const auto pixels = count_frame_pixels(std::span(jpeg).first(cut));
    EXPECT_TRUE(pixels == 0 || pixels == 64u * 48u) << cut;
  }
}

// Segments in front of what a file has: SOI stays first.
test::Bytes with_segments(const test::Bytes& jpeg, const test::Bytes& segments) {
  test::Bytes all(jpeg.begin(), jpeg.begin() + 2);
  all.insert(all.end(), segments.begin(), segments.end());
  all.insert(all.end(), jpeg.begin() + 2, jpeg.end());
  return all;
}

test::Bytes segment(std::uint8_t code, std::span<const std::uint8_t> payload) {
  const auto bytes = static_cast<std::uint16_t>(payload.size() + 2);
  test::Bytes made{0xFF, code, static_cast<std::uint8_t>(bytes >> 8),
                   static_cast<std::uint8_t>(bytes & 0xFF)};
  made.insert(made.end(), payload.begin(), payload.end());
  return made;
}

constexpr std::uint8_t kSof0[] = {0xFF, 0xC0};

TEST(HttpFrameSizeAttack, WhatIsHiddenCountsAsTheMostThereMayBe) {
  constexpr std::uint64_t kLimit = 1'000'000;
  const auto jpeg = test::make_jpeg(64, 48);
  EXPECT_EQ(count_pixels_to_decode(jpeg, kLimit), 64u * 48u);
  EXPECT_EQ(count_pixels_to_decode(jpeg, 1000), 0u) << "refused by its frame header";
  test::Bytes comments;
  for (int i = 0; i < 5000; ++i) {
    const auto one = segment(0xFE, {});
    comments.insert(comments.end(), one.begin(), one.end());
  }
  EXPECT_EQ(count_pixels_to_decode(with_segments(jpeg, comments), kLimit), kLimit);
  // The height is told behind the scan (DNL).
  auto later = jpeg;
  const auto frame = std::search(later.begin(), later.end(), std::begin(kSof0), std::end(kSof0));
  ASSERT_NE(frame, later.end());
  frame[5] = frame[6] = 0;
  EXPECT_EQ(count_pixels_to_decode(later, kLimit), kLimit);
}

TEST(HttpFrameSizeAttack, GainMapsCount) {
  const auto id = jpeg::kIsoGainMapId;
  const std::span<const std::uint8_t> iso(reinterpret_cast<const std::uint8_t*>(id.data()),
                                          id.size());
  const auto map = with_segments(test::make_jpeg(800, 600), segment(0xE2, iso));
  const auto plain = test::make_jpeg(64, 48);
  // Its index goes into the head: where it lies follows from the bytes before it.
  const std::size_t index_at = 2 + 4 + id.size() + 4;
  const std::size_t index_bytes = jpeg::make_mpf(index_at, 0, 0).size();
  const std::size_t primary = plain.size() + 4 + id.size() + 4 + index_bytes;
  auto head = segment(0xE2, iso);
  const auto index = segment(0xE2, jpeg::make_mpf(index_at, primary, map.size()));
  head.insert(head.end(), index.begin(), index.end());
  auto file = with_segments(plain, head);
  ASSERT_EQ(file.size(), primary);
  EXPECT_EQ(count_pixels_to_decode(file, 1'000'000), 64u * 48u);
  file.insert(file.end(), map.begin(), map.end());
  EXPECT_EQ(count_pixels_to_decode(file, 1'000'000), 64u * 48u + 800u * 600u);
  EXPECT_EQ(count_pixels_to_decode(file, 100'000), 64u * 48u) << "a map that is refused";
}

// What a file counts must not depend on how busy the machine is, nor be bought with work.
TEST(HttpFrameSizeAttack, TheSearchIsBoundedByWork) {
  constexpr std::uint64_t kLimit = 1'000'000;
  const auto plain = test::make_jpeg(64, 48);
  test::Bytes fill;
  for (int i = 0; i < 4'000'000; ++i) {
    fill.push_back(0xFF);
    fill.push_back(0);
  }
  EXPECT_EQ(count_pixels_to_decode(with_segments(plain, fill), kLimit), kLimit) << "no frame yet";
  // Scans that hold whatever they like are not looked through: this is a progressive frame.
  auto scans = plain;
  const auto frame = std::search(scans.begin(), scans.end(), std::begin(kSof0), std::end(kSof0));
  ASSERT_NE(frame, scans.end());
  frame[1] = 0xC2;
  scans.insert(scans.end() - 2, fill.begin(), fill.end());
  EXPECT_EQ(count_pixels_to_decode(scans, kLimit), 64u * 48u);
}

}  // namespace
}  // namespace framewire::service::http
