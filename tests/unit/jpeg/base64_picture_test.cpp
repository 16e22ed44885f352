// Pictures as base64 in text, where only a part of the text is read.
#include <gtest/gtest.h>
#include <jpeg/embedded.hpp>
#include <random>
#include <string>

namespace framewire::jpeg {
namespace {

constexpr std::size_t kPictureChars =
    64;  // at least, line ends behind the first character included

TEST(Base64Picture, IsFoundAtEveryPlaceAndLength) {
  for (std::size_t before = 0; before < 140; ++before) {
    for (const std::size_t length :
         {kPictureChars - 1, kPictureChars, kPictureChars + 1, std::size_t{300}}) {
      std::string run = "/9j/" + std::string(length - 4, 'A');
      if (length > 100) run[80] = '\n';
      const std::string text = std::string(before, ' ') + run + "\"" + std::string(before, '=');
      EXPECT_EQ(holds_base64_picture(text), length >= kPictureChars) << before << ' ' << length;
    }
  }
}

TEST(Base64Picture, BeginsWhereItsRunBegins) {
  const std::string run = "/9j/" + std::string(kPictureChars, 'A');
  EXPECT_TRUE(holds_base64_picture("\r\n\n" + run));
  EXPECT_FALSE(holds_base64_picture("x" + run)) << "a word of the text before";
  EXPECT_FALSE(holds_base64_picture("x\n" + run));
  EXPECT_TRUE(holds_base64_picture("x," + run));
}

// Base64 of a box "ftyp", as files of HEIF, AVIF and MP4 begin; its size depends on how many brands
// it lists.
TEST(Base64Picture, IsFoundInBoxesOfEverySize) {
  for (const char* beginning :
       {"AAAAEGZ0eXBoZWlj", "AAAAGGZ0eXBoZWlj", "AAAAIGZ0eXBhdmlm", "AAAAJGZ0eXBoZWlj",
        "AAAAKGZ0eXBoZWlj", "AAAAMGZ0eXBoZWlj", "AAAA/GZ0eXBoZWlj"}) {
    EXPECT_TRUE(holds_base64_picture(beginning + std::string(kPictureChars, 'A'))) << beginning;
  }
  EXPECT_FALSE(holds_base64_picture("AAAAJGZ0eYBoZWlj" + std::string(kPictureChars, 'A')));
}

// The same by reading every character.
bool holds_by_reading_all(std::string_view text) {
  const auto is_text = [](char c) { return c == 'A' || c == '/' || c == '9' || c == 'j'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_text(text[at])) continue;
    const std::size_t begin = at;
    while (at < text.size() && (is_text(text[at]) || text[at] == '\n')) ++at;
    if (at - begin >= kPictureChars && text.substr(begin).starts_with("/9j/")) return true;
  }
  return false;
}

TEST(Base64Picture, IsTheSameAsByReadingAll) {
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    while (text.size() < 400) {
      if (random() % 4 == 0) text += "/9j/";
      text.append(random() % 90, 'A');
      text += random() % 2 == 0 ? '\n' : ' ';
    }
    const bool holds = holds_by_reading_all(text);
    found += holds ? 1 : 0;
    ASSERT_EQ(holds_base64_picture(text), holds) << text;
  }
  EXPECT_GT(found, 2'000);
  EXPECT_LT(found, 18'000);
}

}  // namespace
}  // namespace framewire::jpeg
