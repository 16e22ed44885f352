// Names that break what prints them: bytes that are not UTF-8, and what moves cursors.
#include <gtest/gtest.h>
#include <report/console.hpp>
#include <report/json.hpp>

namespace framewire::app {
namespace {

TEST(AttackJson, BytesThatAreNoTextDoNotThrow) {
  const std::string name = "J\xf6rg \xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82";
  const Json json = {
      {"peer", name}, {name, 1}, {"error", to_json(Status(StatusCode::kDenied, name))}};
  for (const std::string& text : {text_of(json), one_line(json), pretty(json)}) {
    EXPECT_EQ(Json::parse(text)["peer"].get<std::string>().substr(0, 4), "J\xef\xbf\xbd");
  }
  EXPECT_EQ(one_line(json).find('\n'), one_line(json).size() - 1);
}

TEST(AttackTerminal, NothingThatATerminalActsOnGetsThrough) {
  EXPECT_EQ(printable("a\x1b]0;b\a\x7f\r\n"), "a\\x1b]0;b\\x07\\x7f\\x0d\\x0a");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");  // CSI in 8 bits
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \xc2\x85"),
            "\\xc2\\x9b2J \\xc2\\x85");                                         // the same in UTF-8
  EXPECT_EQ(printable("\xc0\x9b \xe0\x80\x9b"), "\\xc0\\x9b \\xe0\\x80\\x9b");  // overlong
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("gpj.\xe2\x80\xae"), "gpj.\\xe2\\x80\\xae");  // from right to left
  EXPECT_EQ(printable("J\xf6rg \xe2\x82"), "J\\xf6rg \\xe2\\x82");
}

TEST(AttackTerminal, TextStaysAsItIs) {
  for (const char* text :
       {"", "a b", "J\xc3\xb6rg", "\xe2\x82\xac", "\xf0\x9f\x93\xb7", "\xc2\xa0"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable(printable(text)), text);
  }
}

}  // namespace
}  // namespace framewire::app
