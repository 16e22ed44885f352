// Signatures against the examples that AWS publishes.
#include <gtest/gtest.h>
#include <base/ascii.hpp>
#include <store/digest.hpp>
#include <store/signature.hpp>

namespace framewire::store {
namespace {

constexpr std::string_view kNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Amazon S3 API Reference, "Signature calculations for the Authorization header".
struct S3Example {
  const char* name;
  std::string method;
  std::string path;
  TextPairs query;
  TextPairs headers;
  std::string payload;
  std::string signed_headers;
  std::string signature;
};

std::string sign_example(const S3Example& example) {
  const S3Credentials credentials{
      "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", {}};
  const auto hash = sha256(as_bytes(example.payload));
  EXPECT_TRUE(hash);
  TextPairs headers = example.headers;
  headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  headers.emplace_back("x-amz-content-sha256", base::to_hex(*hash));
  headers.emplace_back("x-amz-date", "20130524T000000Z");
  const auto time = parse_iso_time("2013-05-24T00:00:00Z");
  const auto made =
      authorization({example.method, example.path, example.query, headers, base::to_hex(*hash)},
                    {*time, "us-east-1", "s3"}, credentials);
  return made ? *made : made.error().to_string();
}

class PublishedS3Signature : public testing::TestWithParam<S3Example> {};

TEST_P(PublishedS3Signature, IsOurs) {
  const S3Example& example = GetParam();
  EXPECT_EQ(sign_example(example),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=" +
                example.signed_headers + ",Signature=" + example.signature);
}

INSTANTIATE_TEST_SUITE_P(
    S3, PublishedS3Signature,
    testing::Values(S3Example{"GetObject",
                              "GET",
                              "/test.txt",
                              {},
                              {{"range", "bytes=0-9"}},
                              "",
                              "host;range;x-amz-content-sha256;x-amz-date",
                              "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
                    S3Example{"PutObject",
                              "PUT",
                              "/" + percent_encode("test$file.text", true),
                              {},
                              {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                               {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                              "Welcome to Amazon S3.",
                              "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                              "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
                    S3Example{"GetBucketLifecycle",
                              "GET",
                              "/",
                              {{"lifecycle", ""}},
                              {},
                              "",
                              "host;x-amz-content-sha256;x-amz-date",
                              "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
                    S3Example{"ListObjects",
                              "GET",
                              "/",
                              {{"prefix", "J"}, {"max-keys", "2"}},
                              {},
                              "",
                              "host;x-amz-content-sha256;x-amz-date",
                              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}),
    [](const auto& example) { return example.param.name; });

// AWS Signature Version 4 test suite.
std::string sign_suite(std::string_view method, const TextPairs& query, TextPairs more = {}) {
  const S3Credentials credentials{
      "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}};
  more.emplace_back("host", "example.amazonaws.com");
  more.emplace_back("x-amz-date", "20150830T123600Z");
  const auto time = parse_iso_time("2015-08-30T12:36:00Z");
  const auto made = authorization({method, "/", query, more, kNothing},
                                  {*time, "us-east-1", "service"}, credentials);
  if (!made) return made.error().to_string();
  return made->substr(made->find("Signature=") + 10);
}

TEST(SignatureSuite, GetVanilla) {
  EXPECT_EQ(sign_suite("GET", {}),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(SignatureSuite, PostVanilla) {
  EXPECT_EQ(sign_suite("POST", {}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST(SignatureSuite, GetVanillaQueryOrderKeyCase) {
  EXPECT_EQ(sign_suite("GET", {{"Param2", "value2"}, {"Param1", "value1"}}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(SignatureSuite, PostWithSessionToken) {
  EXPECT_EQ(
      sign_suite("POST", {},
                 {{"x-amz-security-token",
                   "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqw"
                   "AeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE"
                   "8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0r"
                   "KwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlT"
                   "JabIQwj2ICCR/oLxBA=="}}),
      "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

TEST(Signature, QueriesAreSortedByWhatIsSigned) {
  EXPECT_EQ(canonical_query({{"b", "2"}, {"a", "x y=z&+"}, {"a", "%"}, {"A", ""}}),
            "A=&a=%25&a=x%20y%3Dz%26%2B&b=2");
}

}  // namespace
}  // namespace framewire::store
