#include <gtest/gtest.h>
#include <array>
#include <base/ascii.hpp>

namespace framewire::base {
namespace {

TEST(Ascii, OtherBytesAreNeitherLettersNorDigits) {
  unsigned digits = 0;
  unsigned letters = 0;
  unsigned hex = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    digits += is_digit(c) ? 1 : 0;
    letters += is_letter(c) ? 1 : 0;
    hex += hex_value(c) >= 0 ? 1 : 0;
    EXPECT_EQ(is_letter_or_digit(c), is_letter(c) || is_digit(c));
    EXPECT_EQ(to_lower(c) != c, is_upper(c));
    EXPECT_EQ(to_upper(c) != c, is_lower(c));
    EXPECT_EQ(to_lower(to_upper(c)), to_lower(c));
  }
  EXPECT_EQ(digits, 10U);
  EXPECT_EQ(letters, 52U);
  EXPECT_EQ(hex, 22U);
}

TEST(Ascii, CaseIsThatOfLettersAlone) {
  EXPECT_TRUE(equals_ignoring_case("Content-TYPE", "cONTENT-type"));
  EXPECT_FALSE(equals_ignoring_case("content-type", "content-typ"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
  EXPECT_FALSE(equals_ignoring_case("\xC4", "\xE4"));
  EXPECT_EQ(to_lower("AbZ@[\xC4"), "abz@[\xC4");
}

TEST(Ascii, WhatIsTrimmedIsAtTheEnds) {
  EXPECT_EQ(trim_blanks(" \t a\tb \r\n"), "a\tb \r\n");
  EXPECT_EQ(trim_white("\r\n a\nb\t\r\n"), "a\nb");
  EXPECT_EQ(trim_white(" \t\r\n"), "");
  EXPECT_EQ(trim_blanks(""), "");
}

TEST(Ascii, HexadecimalDigits) {
  EXPECT_EQ(to_hex(std::array<std::uint8_t, 4>{0x00, 0x7f, 0xa0, 0xff}), "007fa0ff");
  EXPECT_EQ(hex_value('9'), 9);
  EXPECT_EQ(hex_value('f'), 15);
  EXPECT_EQ(hex_value('F'), 15);
  EXPECT_EQ(hex_value('g'), -1);
}

}  // namespace
}  // namespace framewire::base
