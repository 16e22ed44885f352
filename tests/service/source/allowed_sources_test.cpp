#include <gtest/gtest.h>
#include <chrono>
#include <service/source/allowed_sources.hpp>

namespace framewire::service::source {
namespace {

bool allows(std::vector<std::string> entries, std::string_view url) {
  const auto list = AllowedSources::parse(entries);
  if (!list) ADD_FAILURE() << list.error().to_string();
  const auto parsed = parse_source(url);
  return list && parsed && list->allows(*parsed);
}

TEST(AllowedSources, AnEmptyListAllowsAll) {
  EXPECT_TRUE(allows({}, "http://images.test/a"));
  EXPECT_TRUE(allows({}, "local:///a"));
}

TEST(AllowedSources, SchemeHostAndPortAreComparedWhole) {
  EXPECT_TRUE(allows({"http://images.test/"}, "http://images.test/a"));
  EXPECT_TRUE(allows({"http://images.test"}, "http://images.test/a"));
  EXPECT_TRUE(allows({"http://images.test:80"}, "http://images.test/a"));
  EXPECT_TRUE(allows({"HTTP://Images.test."}, "http://images.test/a"));
  EXPECT_FALSE(allows({"http://images.test/"}, "https://images.test/a"));
  EXPECT_FALSE(allows({"http://images.test/"}, "http://images.test:8080/a"));
  EXPECT_FALSE(allows({"http://images.test"}, "http://images.test.evil.test/a"));
  EXPECT_FALSE(allows({"http://images.test"}, "http://images.test@evil.test/a"));
  EXPECT_TRUE(allows({"http://images.test:*"}, "http://images.test:8080/a"));
  EXPECT_TRUE(allows({"http://[::1]:*/"}, "http://[::1]:8080/a"));
  EXPECT_TRUE(allows({"http://other.test", "http://images.test"}, "http://images.test/a"));
}

TEST(AllowedSources, PathsAreComparedOnWholeSegments) {
  EXPECT_TRUE(allows({"http://images.test/a/b"}, "http://images.test/a/b"));
  EXPECT_TRUE(allows({"http://images.test/a/b"}, "http://images.test/a/b/c?d"));
  EXPECT_FALSE(allows({"http://images.test/a/b"}, "http://images.test/a/bc"));
  EXPECT_FALSE(allows({"http://images.test/a/b/"}, "http://images.test/a/b"));
  EXPECT_TRUE(allows({"http://images.test/a/b/"}, "http://images.test/a/b/c"));
  EXPECT_FALSE(allows({"http://images.test/"}, "http://images.test"));
  EXPECT_FALSE(allows({"http://images.test/a"}, "http://images.test/"));
  EXPECT_FALSE(allows({"http://images.test/a"}, "http://images.test?/a"));
  EXPECT_TRUE(allows({"local:///photos/"}, "local:///photos/a.jpg"));
  EXPECT_TRUE(allows({"local:///photos/"}, "photos/a.jpg"));
  EXPECT_FALSE(allows({"local:///photos/"}, "local:///private/a.jpg"));
  EXPECT_FALSE(allows({"local:///photos/"}, "local:///photos/../private/a.jpg"));
  EXPECT_TRUE(allows({"local://"}, "local:///a"));
  EXPECT_FALSE(allows({"http://images.test/"}, "local:///a"));
}

TEST(AllowedSources, BucketsAreComparedWholeAndWithTheirCapitals) {
  EXPECT_TRUE(allows({"s3://pub/"}, "s3://pub/a.jpg"));
  EXPECT_TRUE(allows({"S3://pub"}, "s3://pub/a/b.jpg?version"));
  EXPECT_FALSE(allows({"s3://pub"}, "s3://public/a.jpg"));
  EXPECT_FALSE(allows({"s3://pub/"}, "s3://PUB/a.jpg"));
  EXPECT_TRUE(allows({"s3://pub/photos/"}, "s3://pub/photos/a.jpg"));
  EXPECT_FALSE(allows({"s3://pub/photos/"}, "s3://pub/photos2/a.jpg"));
  EXPECT_FALSE(allows({"s3://pub/photos/"}, "s3://pub//photos/a.jpg"));
  EXPECT_TRUE(allows({"s3://pub/a.jpg"}, "s3://pub/a.jpg?version"));
  EXPECT_TRUE(allows({"s3://pub-*/"}, "s3://pub-1/a.jpg"));
  EXPECT_FALSE(allows({"http://pub/"}, "s3://pub/a.jpg"));
  EXPECT_FALSE(allows({"s3://pub/"}, "http://pub/a.jpg"));
  EXPECT_FALSE(allows({"s3://pub/photos/"}, "s3://pub/photos/%2e%2e/private/a.jpg"));
}

TEST(AllowedSources, AStarStandsForPartOfAHostOrSegment) {
  const std::vector<std::string> cdn = {"http://*.cdn.test/"};
  EXPECT_TRUE(allows(cdn, "http://a.cdn.test/x"));
  EXPECT_TRUE(allows(cdn, "http://a-1.b-2.cdn.test/x"));
  EXPECT_FALSE(allows(cdn, "http://cdn.test/x"));
  EXPECT_FALSE(allows(cdn, "http://evil.test?.cdn.test/x"));
  EXPECT_FALSE(allows(cdn, "http://evil.test#.cdn.test/x"));
  EXPECT_FALSE(allows(cdn, "http://evil.test/.cdn.test/x"));
  EXPECT_TRUE(allows({"http://images.test/*/public/"}, "http://images.test/u1/public/a"));
  EXPECT_FALSE(allows({"http://images.test/*/public/"}, "http://images.test/u1/u2/public/a"));
  EXPECT_FALSE(allows({"http://images.test/*/public/"}, "http://images.test//public/a"));
}

TEST(AllowedSourcesAttack, HiddenDotsDoNotLeaveAPrefix) {
  const std::vector<std::string> list = {"http://images.test/a/"};
  for (const char* path :
       {"/a/../b", "/a/%2e%2e/b", "/a/..%2fb", "/a/%2e%2e%2fb", "/a/..%5cb", "/a/%252e%252e%252fb",
        "/a/%252e%252e/b", "/a/%25252e%25252e%25252fb", "/a/x%2f..%2f..%2fb", "/a/..;/b",
        "/a/%2e%2e;x=1/b", "/a/%2525252525252e/b"}) {
    EXPECT_FALSE(allows(list, std::string("http://images.test") + path)) << path;
  }
  // An entry for all of a host lets its own server decide.
  EXPECT_TRUE(allows({"http://images.test/"}, "http://images.test/a/..%2fb"));
  EXPECT_TRUE(allows(list, "http://images.test/a/100%25.jpg"));
  EXPECT_TRUE(allows(list, "http://images.test/a/x%2fy...jpg"));
}

TEST(AllowedSourcesAttack, PatternsTakeBoundedTime) {
  const std::string text(8'000, 'a');
  std::string pattern;
  for (int i = 0; i < 1'000; ++i) pattern += "a*";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches_pattern(pattern + "b", text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(AllowedSources, PatternsMatchAsAnExhaustiveSearchSays) {
  // All patterns and texts of up to five letters of {a, b}, with stars.
  const auto words = [](const std::string& letters) {
    std::vector<std::string> all = {""};
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (all[at].size() == 5) break;
      for (const char c : letters) all.push_back(all[at] + c);
    }
    return all;
  };
  const std::function<bool(std::string_view, std::string_view)> slow =
      [&](std::string_view pattern, std::string_view text) -> bool {
    if (pattern.empty() || text.empty()) return pattern.empty() && text.empty();
    if (pattern[0] == '*') {
      return slow(pattern.substr(1), text.substr(1)) || slow(pattern, text.substr(1));
    }
    return pattern[0] == text[0] && slow(pattern.substr(1), text.substr(1));
  };
  for (const std::string& pattern : words("ab*")) {
    for (const std::string& text : words("ab")) {
      ASSERT_EQ(matches_pattern(pattern, text), slow(pattern, text)) << pattern << ' ' << text;
    }
  }
}

TEST(AllowedSources, WhatIsNoSourceIsRefusedWithItsName) {
  for (const char* entry :
       {"images.test", "/photos", "", "http://", "*://images.test/", "http://images.test/?a",
        "http://user@images.test/", "http://images.test/#a", "http://images.test:99999/",
        "http://**.test/", "http://[*::1]/", "local://host/a", "s3:///a", "http://images.test/a//b",
        "local:///a/../b"}) {
    const std::vector<std::string> list = {entry};
    const auto parsed = AllowedSources::parse(list);
    ASSERT_FALSE(parsed) << entry;
    EXPECT_EQ(parsed.error().code(), StatusCode::kInvalidInput) << entry;
    EXPECT_EQ(parsed.error().subject(), entry);
  }
  EXPECT_EQ(AllowedSources::parse(std::vector<std::string>(1'025, "http://a.test")).error().code(),
            StatusCode::kTooLarge);
}

}  // namespace
}  // namespace framewire::service::source
