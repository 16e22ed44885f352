// ETags of pictures: of the source's and of how the picture is made.
#include <gtest/gtest.h>
#include <service/http/etag.hpp>
#include <string>

namespace framewire::service::http::test {
namespace {

TEST(HttpEtag, NamesSourceAndRecipe) {
  const EtagRecipe recipe{"0123-1"};
  const std::string tag = make_etag(recipe, "\"abc\"");
  EXPECT_EQ(tag, "\"0123-1.ImFiYyI\"");
  EXPECT_EQ(source_etag_of(recipe, tag), "\"abc\"");
  EXPECT_EQ(source_etag_of(recipe, "\"x\" , W/" + tag), "\"abc\"");
  EXPECT_EQ(source_etag_of({"0124-1"}, tag), "");
  EXPECT_EQ(make_etag(recipe, "W/\"a\""), "W/\"0123-1.Vy8iYSI\"");
  EXPECT_EQ(source_etag_of(recipe, "W/\"0123-1.Vy8iYSI\""), "W/\"a\"");
  EXPECT_EQ(make_etag(recipe, ""), "");
  EXPECT_EQ(make_etag(recipe, "\"" + std::string(300, 'a') + "\""), "");
}

TEST(HttpEtagAttack, OnlyOurOwnSpellingIsRead) {
  const EtagRecipe recipe{"r"};
  for (const char* tag : {"", "*", "r.ImFiYyI", "\"r.\"", "\"r.ImFiYyI=\"", "\"r.ImFiYyJ\"",
                          "\"r.!!!!\"", "\"r.ImFiYyI", "\"r.A\"", "\"s.ImFiYyI\""}) {
    EXPECT_EQ(source_etag_of(recipe, tag), "") << tag;
  }
}

}  // namespace
}  // namespace framewire::service::http::test
