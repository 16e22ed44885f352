// ETags of pictures: of the source's and of how the picture is made.
#include <gtest/gtest.h>
#include <service/http/etag.hpp>
#include <string>

namespace framewire::service::http::test {
namespace {

constexpr std::uint64_t kUrlHash = 0x8877'6655'4433'2211;

TEST(HttpEtag, NamesOriginalAndRecipe) {
  const EtagRecipe recipe{"0123-1"};
  const std::string tag = make_etag(recipe, "\"abc\"", kUrlHash);
  EXPECT_EQ(tag, "\"0123-1.ESIzRFVmd4giYWJjIg\"");
  EXPECT_EQ(known_original(recipe, tag).etag, "\"abc\"");
  EXPECT_EQ(known_original(recipe, tag).url_hash, kUrlHash);
  EXPECT_EQ(known_original(recipe, "\"x\" , W/" + tag).etag, "\"abc\"");
  EXPECT_EQ(known_original({"0124-1"}, tag).etag, "");
  const std::string weak = make_etag(recipe, "W/\"a\"", kUrlHash);
  EXPECT_TRUE(weak.starts_with("W/\"0123-1.")) << weak;
  EXPECT_EQ(known_original(recipe, weak).etag, "W/\"a\"");
  EXPECT_EQ(make_etag(recipe, "", kUrlHash), "");
  EXPECT_EQ(make_etag(recipe, "\"" + std::string(300, 'a') + "\"", kUrlHash), "");
}

TEST(HttpEtag, IsAnotherBehindAnotherUrl) {
  const auto tag_at = [](const char* url) { return make_etag({"r"}, "\"1\"", hash_of_url(url)); };
  EXPECT_NE(tag_at("http://images.test/one"), tag_at("http://images.test/two"));
}

TEST(HttpEtagAttack, OnlyOurOwnSpellingIsRead) {
  const EtagRecipe recipe{"r"};
  ASSERT_EQ(known_original(recipe, "\"r.ESIzRFVmd4giYWJjIg\"").etag, "\"abc\"");
  for (const char* tag : {"", "*", "r.ESIzRFVmd4giYWJjIg", "\"r.\"", "\"r.ESIzRFVmd4giYWJjIg==\"",
                          "\"r.ESIzRFVmd4giYWJjIh\"", "\"r.!!!!\"", "\"r.ESIzRFVmd4giYWJjIg",
                          "\"r.A\"", "\"r.ESIzRFVmd4g\"", "\"s.ESIzRFVmd4giYWJjIg\""}) {
    EXPECT_EQ(known_original(recipe, tag).etag, "") << tag;
  }
}

}  // namespace
}  // namespace framewire::service::http::test
