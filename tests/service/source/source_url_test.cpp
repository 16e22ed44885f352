#include <gtest/gtest.h>
#include <service/source/source_url.hpp>

namespace framewire::service::source {
namespace {

struct Read {
  const char* from;
  const char* to;
};

TEST(SourceUrl, WrittenInOneForm) {
  constexpr Read kUrls[] = {
      {"http://images.test/a.jpg", "http://images.test/a.jpg"},
      {"HTTP://Images.TEST:80/a.jpg", "http://images.test/a.jpg"},
      {"https://images.test.:443/a.jpg", "https://images.test/a.jpg"},
      {"https://images.test:8443/x/y.jpeg?sig=a/b+c=",
       "https://images.test:8443/x/y.jpeg?sig=a/b+c="},
      {"http://images.test", "http://images.test"},
      {"http://images.test?q", "http://images.test?q"},
      {"http://images.test/a#frag.jpg", "http://images.test/a"},
      {"http://images.test/a b.jpg", "http://images.test/a%20b.jpg"},
      {"http://images.test/\xe7\x8c\xab.jpg", "http://images.test/%E7%8C%AB.jpg"},
      {"http://images.test/a%2Fb.jpg", "http://images.test/a%2Fb.jpg"},
      {"http://images.test/it's.jpg", "http://images.test/it's.jpg"},
      {"http://images.test/a?b=\"<c>\"", "http://images.test/a?b=%22%3Cc%3E%22"},
      {"http://images.test/a/../b.jpg", "http://images.test/b.jpg"},
      {"http://images.test/a/%2e%2E/b.jpg", "http://images.test/b.jpg"},
      {"http://images.test/a/.%2e/../../b.jpg", "http://images.test/b.jpg"},
      {"http://images.test/a/./b/.", "http://images.test/a/b/"},
      {"http://images.test/a/b/..", "http://images.test/a/"},
      {"http://images.test/..", "http://images.test/"},
      {"http://images.test/.../a", "http://images.test/.../a"},
      {"http://[0:0::1]:8080/a", "http://[::1]:8080/a"},
      {"http://8.8.8.8/a", "http://8.8.8.8/a"},
      {"http://127.0.0.1.images.test/a", "http://127.0.0.1.images.test/a"},
      {"local:///photos/2024/a.jpg", "local:///photos/2024/a.jpg"},
      {"LOCAL:///a b%20?#.jpg", "local:///a b%20?#.jpg"},
      {"local:///photos/../photos//./a.jpg", "local:///photos/a.jpg"},
      {"holiday/beach.jpg", "local:///holiday/beach.jpg"},
      {"/holiday/beach.jpg", "local:///holiday/beach.jpg"},
      {"1:2.jpg", "local:///1:2.jpg"},
  };
  for (const Read& row : kUrls) {
    const auto url = parse_source(row.from);
    ASSERT_TRUE(url) << row.from << ": " << url.error().message;
    EXPECT_EQ(url->text(), row.to) << row.from;
    const auto again = parse_source(url->text());
    ASSERT_TRUE(again) << row.to;
    EXPECT_EQ(again->text(), row.to);
  }
}

TEST(SourceUrlAttack, WhatParsersReadDifferently) {
  const std::string_view rows[] = {
      "http://images.test\\@127.0.0.1/a",
      "http://user@images.test/",
      "http://a:b@images.test/",
      "http://@images.test/",
      "http://images test/",
      "http://images.test\t/a",
      " http://images.test/",
      "http://images.test/a\nb",
      std::string_view("http://images.test/a\0b", 22),
      "http://images.test/%00.jpg",
      "http://images.test/a%0d%0aX-Evil:1",
      "http://images.test/100%",
      "http://images.test/a%zz",
      "http://images.test:99999/",
      "http://images.test:0/",
      "http://images.test:/",
      "http://images.test:+80/",
      "http://images.test:80:80/",
      "http:///a",
      "http://",
      "http:/images.test/a",
      "http:images.test",
      "http://:80/",
      "http://images..test/",
      "http://-a.test/",
      "http://.test/",
      "http://\xef\xbc\x91.0.0.1/",
      "http://127.1/",
      "http://0x7f.1/",
      "http://0x7f000001/",
      "http://2130706433/",
      "http://127.000.000.001/",
      "http://127.0.0.1.:80:/",
      "http://a.0x1/",
      "http://[::1/",
      "http://[::1]x/",
      "http://[127.0.0.1]/",
      "http://[fe80::1%25lo]/",
      "http://[v1.a]/",
      "http://im%61ges.test/",
      "http://images.test\\a/",
      "local://photos/a.jpg",
      "local:/a.jpg",
      "local:a.jpg",
      "local://../etc/passwd",
  };
  for (const std::string_view row : rows) {
    const auto url = parse_source(row);
    ASSERT_FALSE(url) << row << " → " << url->text();
    EXPECT_TRUE(url.error().kind == FetchErrorKind::kBadUrl ||
                url.error().kind == FetchErrorKind::kNotFound)
        << row;
  }
  const std::string huge = "http://images.test/" + std::string(kMaxUrlBytes, 'a');
  EXPECT_FALSE(parse_source(huge));
  EXPECT_FALSE(parse_source("http://" + std::string(64, 'a') + ".test/"));
}

TEST(SourceUrlAttack, PathsOutOfTheRoot) {
  for (const char* row : {"local:///", "local:///a/", "local:///../a", "local:///a/../../b", "../a",
                          "..", ".", "/", "", "a/..", "local:///.."}) {
    const auto url = parse_source(row);
    ASSERT_FALSE(url) << row;
    EXPECT_EQ(url.error().kind, FetchErrorKind::kNotFound) << row;
  }
  EXPECT_FALSE(parse_source("local:///" + std::string(256, 'a')));
  std::string deep = "local://";
  for (int i = 0; i < 1'000; ++i) deep += "/deep";
  EXPECT_FALSE(parse_source(deep));
}

TEST(SourceUrlAttack, OtherSchemes) {
  for (const char* row :
       {"file:///etc/passwd", "ftp://images.test/a", "gs://bucket/a", "data:image/jpeg,a",
        "unix:///run/docker.sock", "jar:http://images.test!/a", "gopher://127.0.0.1/", "dict://a/",
        "ws://images.test/", "javascript:1", "view-source:http://a/"}) {
    const auto url = parse_source(row);
    ASSERT_FALSE(url) << row;
    EXPECT_EQ(url.error().kind, FetchErrorKind::kSchemeNotAllowed) << row;
  }
}

TEST(SourceUrl, KeysOfObjectsAreTakenLiterally) {
  struct KeyOf {
    const char* text;
    const char* bucket;
    const char* path;
    const char* query;
  };
  constexpr KeyOf kRows[] = {
      {"s3://photos/a.jpg", "photos", "/a.jpg", ""},
      {"S3://Photos/a b#c%2f.jpg", "Photos", "/a b#c%2f.jpg", ""},
      {"s3://photos//a//b", "photos", "//a//b", ""},
      {"s3://photos/a.jpg?v1?w", "photos", "/a.jpg", "?v1?w"},
      {"s3://photos/a.jpg?", "photos", "/a.jpg", "?"},
      {"s3://photos/a\\b@c:d", "photos", "/a\\b@c:d", ""},
      {"s3://photos/...", "photos", "/...", ""},
  };
  for (const KeyOf& row : kRows) {
    const auto url = parse_source(row.text);
    ASSERT_TRUE(url) << row.text << url.error().message;
    EXPECT_EQ(url->scheme, Scheme::kS3);
    EXPECT_EQ(url->host, row.bucket);
    EXPECT_EQ(url->path, row.path);
    EXPECT_EQ(url->query, row.query);
    EXPECT_EQ(parse_source(url->text())->text(), url->text());
  }
  EXPECT_EQ(parse_source("s3://photos/a?v", "")->path, "/a?v");
  EXPECT_EQ(parse_source("s3://photos/a?b@@v", "@@")->query, "@@v");
}

TEST(SourceUrlAttack, BucketsAndKeysThatLeadElsewhere) {
  const std::string long_key(1'025, 'a');
  for (const std::string& row :
       {std::string("s3:photos/a"),       std::string("s3:/photos/a"),
        std::string("s3://photos"),       std::string("s3://photos/"),
        std::string("s3://photos/?v"),    std::string("s3:///a"),
        std::string("s3://ab/a"),         std::string("s3://photos:80/a"),
        std::string("s3://u@photos/a"),   std::string("s3://photos?x/a"),
        std::string("s3://photos#x/a"),   std::string("s3://photos\\x/a"),
        std::string("s3://pho tos/a"),    std::string("s3://photos../a"),
        std::string("s3://.photos/a"),    std::string("s3://ph%2ftos/a"),
        std::string("s3://photos/.."),    std::string("s3://photos/../other/a"),
        std::string("s3://photos/a/./b"), std::string("s3://photos/a/.."),
        std::string("s3://photos/a\nb"),  "s3://photos/" + long_key}) {
    const auto url = parse_source(row);
    ASSERT_FALSE(url) << row;
    EXPECT_EQ(url.error().kind, FetchErrorKind::kBadUrl) << row;
  }
}

TEST(SourceUrl, RedirectsAreReadFromTheUrlThatAnswered) {
  const SourceUrl base = parse_source("https://images.test:8443/a/b/c.jpg?x=1").value();
  constexpr Read kUrls[] = {
      {"d.jpg", "https://images.test:8443/a/b/d.jpg"},
      {"./d.jpg", "https://images.test:8443/a/b/d.jpg"},
      {"../d.jpg", "https://images.test:8443/a/d.jpg"},
      {"../../../../d.jpg", "https://images.test:8443/d.jpg"},
      {"/d.jpg?y", "https://images.test:8443/d.jpg?y"},
      {"?y=2", "https://images.test:8443/a/b/c.jpg?y=2"},
      {"#part", "https://images.test:8443/a/b/c.jpg?x=1"},
      {"", "https://images.test:8443/a/b/c.jpg?x=1"},
      {"//other.test/d", "https://other.test/d"},
      {"http://other.test", "http://other.test"},
      {"d e.jpg", "https://images.test:8443/a/b/d%20e.jpg"},
  };
  for (const Read& row : kUrls) {
    const auto url = resolve_redirect(base, row.from);
    ASSERT_TRUE(url) << row.from;
    EXPECT_EQ(url->text(), row.to) << row.from;
  }
  EXPECT_EQ(resolve_redirect(parse_source("http://images.test").value(), "a.jpg")->text(),
            "http://images.test/a.jpg");
  for (const char* row :
       {"local:///a.jpg", "file:///etc/passwd", "s3://photos/b", "S3://photos/b"}) {
    EXPECT_EQ(resolve_redirect(base, row).error().kind, FetchErrorKind::kSchemeNotAllowed) << row;
  }
  for (const char* row : {"/\\127.0.0.1/", "\\\\127.0.0.1\\", "http://a@b.test/", "/a%", "//"}) {
    EXPECT_EQ(resolve_redirect(base, row).error().kind, FetchErrorKind::kBadUrl) << row;
  }
}

}  // namespace
}  // namespace framewire::service::source
