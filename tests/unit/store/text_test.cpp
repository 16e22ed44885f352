// Escapes, dates, URLs of objects and addresses of buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <store/address.hpp>
#include <store/part_sizes.hpp>
#include <store/text.hpp>

namespace framewire::store {
namespace {

TEST(StoreText, EscapesComeBack) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(decode_form_text(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a/b c~+", true), "a/b%20c~%2B");
  EXPECT_EQ(percent_encode("a/b"), "a%2Fb");
  EXPECT_EQ(decode_form_text("a+b%2Bc"), "a b+c");
  for (const char* broken : {"%", "%2", "a%zz", "%-1"}) {
    EXPECT_EQ(decode_form_text(broken), std::nullopt);
  }
}

TEST(StoreText, MessagesHaveNoControlCharacters) {
  EXPECT_EQ(printable("a\nb\x1b[31mc\x7f\xc2\x9b"), "a b[31mc");
  EXPECT_EQ(printable("\xff\xc3\xa4"), "?\xc3\xa4");
  EXPECT_EQ(printable(std::string(1'000, 'x')).size(), 300U);
}

TEST(StoreText, DatesOfBothForms) {
  const auto time = parse_iso_time("2013-05-24T01:02:03.999Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(basic_iso_time(*time), "20130524T010203Z");
  EXPECT_EQ(parse_iso_time("2013-05-24T01:02:03Z"), time);
  EXPECT_EQ(parse_http_date("Fri, 24 May 2013 01:02:03 GMT"), time);
  for (const char* wrong : {"", "2013-05-24", "2013-13-24T01:02:03Z", "2013-02-30T01:02:03Z",
                            "2013-05-24T25:02:03Z", "2013-05-24T01:02:03.x9Z"}) {
    EXPECT_EQ(parse_iso_time(wrong), std::nullopt) << wrong;
  }
  for (const char* wrong : {"", "Fri, 24 Mai 2013 01:02:03 GMT", "Fri, 24 May 2013 01:02:03 CET",
                            "Fri, 24 ayJ 2013 01:02:03 GMT", "Fri, 32 May 2013 01:02:03 GMT"}) {
    EXPECT_EQ(parse_http_date(wrong), std::nullopt) << wrong;
  }
}

TEST(ObjectUrls, BucketAndKey) {
  const auto url = parse_object_url("s3://photos/2024/a b?#%.jpg");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->bucket, "photos");
  EXPECT_EQ(url->key, "2024/a b?#%.jpg");
  EXPECT_EQ(parse_object_url("s3://photos")->key, "");
  EXPECT_EQ(parse_object_url("s3://photos//")->key, "/");
  EXPECT_TRUE(is_object_url("s3://"));
  EXPECT_FALSE(is_object_url("S3:/photos"));
}

TEST(ObjectUrls, WhatIsNone) {
  const std::string long_key(1'025, 'k');
  for (const std::string& text :
       {std::string("ftp://a/b"), std::string("http:///b"), std::string("http://user:word@a/b"),
        std::string("http://a/b#c"), std::string("http://a/b c"), std::string("s3://"),
        std::string("s3:///key"), std::string("s3://ab"), std::string("s3://a..b/k"),
        std::string("s3://-ab/k"), std::string("s3://user@host/k"), std::string("s3://a:80/k"),
        std::string("s3://a b/k"), "s3://photos/" + long_key,
        std::string("s3://photos/a\0b", 15)}) {
    const auto url = parse_object_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code(), StatusCode::kInvalidInput);
  }
}

std::string address_of(const std::string& bucket, const std::string& endpoint,
                       const std::string& region, std::optional<bool> path_style = {}) {
  const auto address = BucketAddress::make(bucket, endpoint, region, path_style);
  return address ? address->origin() + address->path("k y") : address.error().to_string();
}

TEST(BucketAddresses, OfAws) {
  EXPECT_EQ(address_of("photos", "", "eu-central-1"),
            "https://photos.s3.eu-central-1.amazonaws.com/k%20y");
  EXPECT_EQ(address_of("photos", "", "cn-north-1", true),
            "https://s3.cn-north-1.amazonaws.com.cn/photos/k%20y");
  // No certificate holds for these as hosts.
  EXPECT_EQ(address_of("my.photos", "", "us-east-1"),
            "https://s3.us-east-1.amazonaws.com/my.photos/k%20y");
  EXPECT_EQ(address_of("Photos_1", "", "us-east-1"),
            "https://s3.us-east-1.amazonaws.com/Photos_1/k%20y");
}

TEST(BucketAddresses, OfAnEndpoint) {
  EXPECT_EQ(address_of("photos", "http://127.0.0.1:9000", "us-east-1"),
            "http://127.0.0.1:9000/photos/k%20y");
  EXPECT_EQ(address_of("photos", "HTTPS://Store.Example:443/base/", "us-east-1"),
            "https://store.example/base/photos/k%20y");
  EXPECT_EQ(address_of("photos", "http://[::1]:80", "us-east-1"), "http://[::1]/photos/k%20y");
  EXPECT_EQ(address_of("photos", "https://store.example:8443", "us-east-1", false),
            "https://photos.store.example:8443/k%20y");
  const auto bucket = BucketAddress::make("photos", "https://a.example", "us-east-1", false);
  EXPECT_EQ(bucket->path(""), "/");
}

TEST(BucketAddresses, WhatCannotBeOne) {
  for (const char* endpoint :
       {"127.0.0.1:9000", "ftp://a", "http://", "http://a:0", "http://a:65536", "http://a:x",
        "http://user:secret@a", "http://a?b", "http://a/b?c", "http://a b", "http://a/\x01"}) {
    const auto address = BucketAddress::make("photos", endpoint, "us-east-1", {});
    ASSERT_FALSE(address) << endpoint;
    EXPECT_EQ(address.error().code(), StatusCode::kInvalidInput);
    EXPECT_EQ(address.error().to_string().find("secret"), std::string::npos);
  }
  EXPECT_FALSE(BucketAddress::make("photos", "", "us-east-1.evil.example/", {}));
  EXPECT_FALSE(BucketAddress::make("a/b", "", "us-east-1", {}));
  EXPECT_FALSE(BucketAddress::make("my.photos", "", "us-east-1", false));
}

TEST(PartSizes, TenThousandHoldTheLargestObject) {
  std::uint64_t all = 0;
  for (unsigned number = 1; number <= kMaxParts; ++number) {
    all += part_bytes(number);
    EXPECT_LE(part_bytes(number), std::size_t{5} << 30);
  }
  EXPECT_GE(all, std::uint64_t{5} << 40);
  EXPECT_EQ(part_bytes(1), std::size_t{16} << 20);
}

}  // namespace
}  // namespace framewire::store
