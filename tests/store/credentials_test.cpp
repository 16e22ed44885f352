// Credentials from services: containers, instances, roles; and that they are renewed.
#include <fmt/chrono.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <store/s3/find_credentials.hpp>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>

namespace framewire::store::s3 {
namespace {

using namespace framewire::test;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

std::string time_in(std::chrono::seconds from_now) {
  return fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + from_now);
}

std::string keys_json(const std::string& id) {
  return R"({"Code":"Success","AccessKeyId":")" + id +
         R"(","SecretAccessKey":"SECRET","Token":"T/=","Expiration":")" +
         time_in(std::chrono::hours(1)) + "\"}";
}

Result<FoundCredentials> find(const Variables& variables) {
  const auto environment = environment_of(variables);
  const auto profile = SharedProfile::load("", environment);
  if (!profile) return fail(profile.error());
  return find_credentials({}, *profile, "eu-west-1", environment);
}

TEST(FoundCredentials, NowhereIsDenied) {
  const auto found = find({{"AWS_EC2_METADATA_DISABLED", "TRUE"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kDenied);
  const auto store =
      try_open("http://127.0.0.1:1", {}, short_times(), {{"AWS_EC2_METADATA_DISABLED", "true"}});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), StatusCode::kDenied);
}

TEST(FoundCredentials, OfAnInstanceByToken) {
  ScriptedServer server([](const Asked& asked) {
    if (asked.method == "PUT") {
      EXPECT_EQ(asked.target, "/latest/api/token");
      EXPECT_EQ(asked.headers.at("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
      return reply(200, "TOKEN");
    }
    EXPECT_EQ(asked.headers.at("x-aws-ec2-metadata-token"), "TOKEN");
    const std::string folder = "/latest/meta-data/iam/security-credentials/";
    if (asked.target == folder) return reply(200, "my-role\nother");
    EXPECT_EQ(asked.target, folder + "my-role");
    return reply(200, keys_json("OF-INSTANCE"));
  });
  const auto found = find({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url() + "/"}});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->credentials.access_key_id, "OF-INSTANCE");
  EXPECT_EQ(found->credentials.session_token, "T/=");
  EXPECT_TRUE(found->credentials.expires && found->renew);
}

TEST(FoundCredentials, NoInstanceIsNoError) {
  ScriptedServer server([](const Asked&) { return reply(404); });
  const auto found = find({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url()}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), StatusCode::kDenied);
  EXPECT_THAT(found.error().message(), HasSubstr("there are no credentials"));
}

TEST(FoundCredentials, OfAContainerByTokenFile) {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("framewire-token-{}", ::getpid());
  std::ofstream(file) << "Bearer x\n";
  ScriptedServer server([](const Asked& asked) {
    EXPECT_EQ(asked.headers.at("authorization"), "Bearer x");
    return reply(200, keys_json("OF-CONTAINER"));
  });
  Variables variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/creds"},
                         {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file}};
  const auto found = find(variables);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->credentials.access_key_id, "OF-CONTAINER");

  std::ofstream(file) << "two\r\nlines";
  EXPECT_EQ(find(variables).error().code(), StatusCode::kDenied);
  std::filesystem::remove(file);
  for (const char* url :
       {"http://example.com/creds", "http://127.0.0.1.evil.example/", "ftp://localhost/",
        "http://localhost@evil.example/", "http://localhost:80@evil.example/"}) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    EXPECT_EQ(find(variables).error().code(), StatusCode::kDenied) << url;
  }
  EXPECT_EQ(server.requests(), 1U);
}

TEST(FoundCredentials, WhatAServiceSaysWronglyIsAnErrorWithoutSecrets) {
  for (const std::string& body :
       {std::string("{\"Code\":\"AssumeRoleUnauthorizedAccess\"}"), std::string("[]"),
        std::string("{\"AccessKeyId\":\"I\",\"SecretAccessKey\":7}"), std::string("SECRET"),
        std::string(100'000, '[')}) {
    ScriptedServer server([&](const Asked&) { return reply(200, body); });
    const auto found = find({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url()}});
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().to_string(), Not(HasSubstr("SECRET")));
  }
}

TEST(FoundCredentials, OfARoleByWebIdentity) {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("framewire-jwt-{}", ::getpid());
  std::ofstream(file) << "ey.J+w/t";
  ScriptedServer server([](const Asked& asked) {
    EXPECT_EQ(asked.method, "POST");
    EXPECT_EQ(asked.body,
              "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
              "RoleSessionName=framewire&Version=2011-06-15&WebIdentityToken=ey.J%2Bw%2Ft");
    return reply(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><"
        "AccessKeyId>"
        "OF-ROLE</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
        "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></"
        "AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>");
  });
  const auto found = find({{"AWS_WEB_IDENTITY_TOKEN_FILE", file},
                           {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                           {"AWS_ENDPOINT_URL_STS", server.url()}});
  std::filesystem::remove(file);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->credentials.access_key_id, "OF-ROLE");
}

TEST(KeptCredentials, AreRenewedOnceBeforeTheyEnd) {
  std::atomic<int> renewals = 0;
  CredentialKeeper keeper(
      {"first", "S", "T",
       std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
           std::chrono::seconds(60)},
      [&]() -> Result<S3Credentials> {
        ++renewals;
        return S3Credentials{"second", "S", "T", SystemTime(std::chrono::seconds(4'000'000'000))};
      },
      {std::chrono::seconds(61), milliseconds(1)});
  ASSERT_TRUE(keeper.start());
  const auto until = base::Clock::now() + std::chrono::seconds(60);
  while (keeper.current()->access_key_id == "first" && base::Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(keeper.current()->access_key_id, "second");
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(renewals.load(), 1);
}

// "9999-12-31T23:59:59Z", which some services say for "never"; and what can be counted no more.
TEST(KeptCredentials, ThatEndInAnyYearAreValidUntilThen) {
  for (const SystemTime end :
       {*parse_iso_time("9999-12-31T23:59:59Z"), *parse_iso_time("2263-01-01T00:00:00Z")}) {
    std::atomic<int> renewals = 0;
    CredentialKeeper keeper({"first", "S", "T", end},
                            [&]() -> Result<S3Credentials> {
                              ++renewals;
                              return fail(StatusCode::kIoError, "no service");
                            },
                            {std::chrono::seconds(300), milliseconds(1)});
    std::this_thread::sleep_for(milliseconds(50));
    const auto current = keeper.current();
    ASSERT_TRUE(current) << current.error().to_string();
    EXPECT_EQ(current->access_key_id, "first");
    EXPECT_EQ(renewals.load(), 0);
  }
}

TEST(KeptCredentials, ThatEndedInAnyYearAreRenewed) {
  CredentialKeeper keeper(
      {"first", "S", "T", *parse_iso_time("0000-01-01T00:00:00Z")},
      [&]() -> Result<S3Credentials> {
        return S3Credentials{"second", "S", "T", *parse_iso_time("9999-12-31T23:59:59Z")};
      },
      {std::chrono::seconds(300), milliseconds(1)});
  ASSERT_TRUE(keeper.start());
  const auto until = base::Clock::now() + std::chrono::seconds(60);
  while (!keeper.current() && base::Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  const auto current = keeper.current();
  ASSERT_TRUE(current) << current.error().to_string();
  EXPECT_EQ(current->access_key_id, "second");
}

// The thread that renews is the whole process', which it would end.
TEST(KeptCredentials, WithoutMemoryAreRenewedLater) {
  std::atomic<int> renewals = 0;
  CredentialKeeper keeper(
      {"first", "S", "T", SystemTime(std::chrono::seconds(1))},
      [&]() -> Result<S3Credentials> {
        if (++renewals < 3) throw std::bad_alloc();
        return S3Credentials{"second", "S", "T", SystemTime(std::chrono::seconds(4'000'000'000))};
      },
      {std::chrono::seconds(1), milliseconds(20)});
  ASSERT_TRUE(keeper.start());
  const auto until = base::Clock::now() + std::chrono::seconds(60);
  std::string text;
  while (base::Clock::now() < until) {
    const auto current = keeper.current();
    if (current) break;
    text = current.error().to_string();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(keeper.current());
  EXPECT_THAT(text, HasSubstr("memory ran out"));
}

TEST(KeptCredentials, ThatHaveEndedAreDeniedWithTheReason) {
  CredentialKeeper keeper(
      {"first", "S", "T", SystemTime(std::chrono::seconds(1))},
      []() -> Result<S3Credentials> { return fail(StatusCode::kIoError, "no service"); },
      {std::chrono::seconds(1), milliseconds(1)});
  ASSERT_TRUE(keeper.start());
  const auto until = base::Clock::now() + std::chrono::seconds(60);
  std::string text;
  while (text.find("no service") == std::string::npos && base::Clock::now() < until) {
    const auto current = keeper.current();
    ASSERT_FALSE(current);
    EXPECT_EQ(current.error().code(), StatusCode::kDenied);
    text = current.error().to_string();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_THAT(text, HasSubstr("no service"));
}

// With the server's word, and where it can have none: an answer to HEAD.
TEST(KeptCredentials, ThatAServerFindsExpiredAreRenewed) {
  for (const bool head : {false, true}) {
    std::atomic<int> generation = 0;
    ScriptedServer metadata(
        [&](const Asked&) { return reply(200, keys_json(fmt::format("K{}", generation++))); });
    ScriptedServer server([&](const Asked& asked) {
      if (asked.headers.at("authorization").find("Credential=K0/") != std::string::npos) {
        return reply(400, head ? "" : "<Error><Code>ExpiredToken</Code></Error>");
      }
      EXPECT_EQ(asked.headers.at("x-amz-security-token"), "T/=");
      return reply(200, "", {"ETag: \"e\"", "Last-Modified: Fri, 24 May 2013 00:00:00 GMT"});
    });
    StoreSettings settings;
    settings.attempts = 20;
    StoreTiming timing = short_times();
    timing.max_wait = milliseconds(500);
    const auto store = opened(server.url(), settings, timing,
                              {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata.url()}});
    if (head) {
      const auto found = store->find("k");
      ASSERT_TRUE(found) << found.error().to_string();
      EXPECT_TRUE(*found);
    } else {
      const auto put = store->put("k", {}, PutCondition::kNone);
      ASSERT_TRUE(put) << put.error().to_string();
    }
    EXPECT_EQ(generation.load(), 2);
  }
}

}  // namespace
}  // namespace framewire::store::s3
