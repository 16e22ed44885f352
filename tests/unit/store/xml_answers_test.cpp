// What servers answer, friendly and hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <store/retry.hpp>
#include <store/xml_answers.hpp>

namespace framewire::store {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::string object(const std::string& key, const std::string& size = "12",
                   const std::string& etag = "&quot;e1&quot;",
                   const std::string& time = "2024-01-02T03:04:05.678Z") {
  return "<Contents><Key>" + key + "</Key><LastModified>" + time + "</LastModified><ETag>" + etag +
         "</ETag><Size>" + size + "</Size></Contents>";
}

std::string listing(const std::string& inside,
                    const std::string& end = "<IsTruncated>false</IsTruncated>") {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>" +
         inside + end + "</ListBucketResult>";
}

TEST(Listings, KeysSizesTimesAndTags) {
  const auto page = parse_listing(listing(
      object("a%0Ab+c%2B.jpg") + object("b"),
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t/o=k</NextContinuationToken>"));
  ASSERT_TRUE(page) << page.error().to_string();
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects[0].key, "a\nb c+.jpg");
  EXPECT_EQ(page->objects[0].bytes, 12U);
  EXPECT_EQ(page->objects[0].etag, "e1");
  EXPECT_EQ(page->objects[0].mtime_ns, 1'704'164'645'000'000'000);
  EXPECT_EQ(page->next, "t/o=k");
}

TEST(Listings, DatesOfAnyYear) {
  const auto page = parse_listing(listing(object("a", "1", "e", "9999-12-31T23:59:59Z") +
                                          object("b", "1", "e", "0000-01-01T00:00:00Z")));
  ASSERT_TRUE(page) << page.error().to_string();
  EXPECT_GT(page->objects[0].mtime_ns, 9'000'000'000'000'000'000);
  EXPECT_LT(page->objects[1].mtime_ns, -9'000'000'000'000'000'000);
}

TEST(Listings, KeysThatAreNotEscaped) {
  const auto page = parse_listing("<ListBucketResult><IsTruncated>false</IsTruncated>" +
                                  object(" a+b &amp;%41 ") + "</ListBucketResult>");
  ASSERT_TRUE(page) << page.error().to_string();
  EXPECT_EQ(page->objects[0].key, " a+b &%41 ");
}

TEST(ListingsAttack, WhatIsNoneIsRefused) {
  const std::string long_key(1'025, 'k');
  for (const std::string& xml :
       {std::string(), std::string("<html>busy</html>"), listing(object("")),
        listing(object("%zz")), listing(object("a%00b")), listing(object(long_key)),
        listing(object("a", "-1")), listing(object("a", "99999999999999999999")),
        listing(object("a", "1", "e\r\nx-evil: 1")), listing(object("a", "1", "e", "yesterday")),
        listing("", ""), listing("", "<IsTruncated>maybe</IsTruncated>"),
        listing("", "<IsTruncated>true</IsTruncated>"), listing(object("a")).substr(0, 150),
        std::string("<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>&a;</ListBucketResult>")}) {
    const auto page = parse_listing(xml);
    ASSERT_FALSE(page) << xml;
    EXPECT_EQ(page.error().code(), StatusCode::kIoError);
  }
}

TEST(ListingsAttack, DepthCostsNoStack) {
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "<Contents>";
  EXPECT_FALSE(parse_listing("<ListBucketResult>" + deep));
  for (int i = 0; i < 300'000; ++i) deep += "</Contents>";
  EXPECT_FALSE(parse_listing("<ListBucketResult>" + deep + "</ListBucketResult>"));
}

TEST(Errors, CodeAndMessageAlone) {
  const auto error = parse_service_error(
      "<Error><Code>No\x1bSuch<!-- -->Key</Code><Message>a\n\x07 b</Message>"
      "<AWSAccessKeyId>ID</AWSAccessKeyId><Region>eu-west-1</Region></Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "NoSuch");
  EXPECT_EQ(error->message, "a  b");
  EXPECT_EQ(error->region, "eu-west-1");
  EXPECT_EQ(
      parse_service_error("<ErrorResponse><Error><Code>X</Code></Error></ErrorResponse>")->code,
      "X");
  EXPECT_FALSE(parse_service_error("<html>"));
  EXPECT_FALSE(parse_service_error(""));
}

TEST(Uploads, WhatIsSentAndAnswered) {
  const std::vector<std::string> etags = {"a", "b<&>"};
  EXPECT_THAT(completion_body(etags),
              HasSubstr("<Part><PartNumber>2</PartNumber><ETag>\"b&lt;&amp;&gt;\"</ETag></Part>"));
  EXPECT_EQ(*parse_upload_id("<InitiateMultipartUploadResult><UploadId>id</UploadId>"
                             "</InitiateMultipartUploadResult>"),
            "id");
  EXPECT_FALSE(parse_upload_id("<InitiateMultipartUploadResult/>"));
  EXPECT_TRUE(is_completion("<CompleteMultipartUploadResult/>"));
  EXPECT_FALSE(is_completion("<Error><Code>InternalError</Code></Error>"));
  EXPECT_EQ(unquoted_etag("\"a-2\""), "a-2");
  EXPECT_EQ(unquoted_etag("a\"b"), std::nullopt);
}

TEST(AssumedRoles, KeysThatEnd) {
  const auto made = parse_assumed_role(
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
      "<AccessKeyId>I</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T"
      "</SessionToken><Expiration>2024-01-02T03:04:05Z</Expiration></Credentials>"
      "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->session_token, "T");
  EXPECT_EQ(basic_iso_time(*made->expires), "20240102T030405Z");
  EXPECT_FALSE(parse_assumed_role("<AssumeRoleWithWebIdentityResponse/>"));
}

TEST(Retries, WhatMayBeSentAgain) {
  for (const unsigned status : {429U, 500U, 502U, 503U, 504U}) EXPECT_TRUE(may_retry(status, ""));
  for (const unsigned status : {301U, 400U, 403U, 404U, 409U, 412U, 416U, 501U}) {
    EXPECT_FALSE(may_retry(status, "")) << status;
  }
  EXPECT_TRUE(may_retry(409, "ConditionalRequestConflict"));
  EXPECT_TRUE(may_retry(400, "RequestTimeout"));
  EXPECT_FALSE(may_retry(403, "AccessDenied"));
  EXPECT_TRUE(blames_clock(403, "RequestTimeTooSkewed"));
  EXPECT_FALSE(blames_clock(403, "SignatureDoesNotMatch"));
  EXPECT_TRUE(blames_expiry(400, "ExpiredToken"));
}

TEST(Retries, WaitsDoubleUpToABound) {
  const StoreTiming timing;
  EXPECT_EQ(backoff(1, 1.0, timing), timing.first_wait);
  EXPECT_EQ(backoff(3, 1.0, timing), timing.first_wait * 4);
  EXPECT_EQ(backoff(3, 0.5, timing), timing.first_wait * 2);
  EXPECT_EQ(backoff(1'000, 1.0, timing), timing.max_wait);
  EXPECT_EQ(backoff(5, 0.0, timing), milliseconds(0));
}

TEST(Retries, WhatTheServerAsksForIsBounded) {
  const StoreTiming timing;
  const auto now = *parse_http_date("Fri, 24 May 2013 00:00:00 GMT");
  EXPECT_EQ(parse_retry_after("2", now, timing), milliseconds(2'000));
  EXPECT_EQ(parse_retry_after("Fri, 24 May 2013 00:00:05 GMT", now, timing), milliseconds(5'000));
  EXPECT_EQ(parse_retry_after("Fri, 24 May 2012 00:00:05 GMT", now, timing), milliseconds(0));
  EXPECT_EQ(parse_retry_after("18446744073709551615", now, timing), timing.max_retry_after);
  EXPECT_EQ(parse_retry_after("soon", now, timing), std::nullopt);
  EXPECT_EQ(parse_retry_after("-1", now, timing), std::nullopt);
}

TEST(Answers, WhoMustAct) {
  EXPECT_EQ(code_of_answer(403, "AccessDenied"), StatusCode::kDenied);
  EXPECT_EQ(code_of_answer(400, "ExpiredToken"), StatusCode::kDenied);
  EXPECT_EQ(code_of_answer(503, "SlowDown"), StatusCode::kBusy);
  EXPECT_EQ(code_of_answer(412, ""), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of_answer(404, "NoSuchBucket"), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of_answer(500, ""), StatusCode::kIoError);
}

}  // namespace
}  // namespace framewire::store
