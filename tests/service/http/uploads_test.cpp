// Whether pictures are taken by POST: what the setting says, and what follows from the others.
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/service/http/client.hpp>

namespace framewire::service::http::test {
namespace {

using nlohmann::json;

constexpr const char* kTargets[] = {"/v1/resize?size=10x", "/v1/inspect"};

int status_of(const TestServer& server, std::string_view target, const std::string& fields = "") {
  TestClient client(server.endpoint());
  std::string request = post(target, text_of(make_jpeg(32, 24)));
  request.insert(request.find("\r\n") + 2, fields);
  const auto answer = client.ask(request);
  return answer ? answer->status : 0;
}

bool page_is_told(const TestServer& server) {
  TestClient client(server.endpoint());
  const auto answer = client.ask(get("/v1/options"));
  return answer && json::parse(answer->body)["uploads"].get<bool>();
}

ServiceSettings with_keys() {
  ServiceSettings settings = loopback();
  settings.url.keys = {"aa"};
  settings.url.salts = {"bb"};
  return settings;
}

ServiceSettings with_presets_alone() {
  ServiceSettings settings = loopback();
  settings.url.presets = {"thumb=w:5"};
  settings.url.only_presets = true;
  return settings;
}

TEST(HttpUploads, AreNotTakenFromStrangersWhereUrlsAreBound) {
  for (const ServiceSettings& settings : {with_keys(), with_presets_alone()}) {
    const TestServer server(settings);
    for (const char* target : kTargets) EXPECT_EQ(status_of(server, target), 403) << target;
    EXPECT_FALSE(page_is_told(server));
  }
}

TEST(HttpUploads, RefusalsNameTheSetting) {
  const TestServer server(with_keys());
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/resize", "x"));
  ASSERT_TRUE(answer);
  const auto error = json::parse(answer->body)["error"];
  EXPECT_EQ(error["code"], "denied");
  EXPECT_NE(error["message"].get<std::string>().find("the setting uploads"), std::string::npos);
}

TEST(HttpUploads, BringTheSecretWhereThereIsOne) {
  ServiceSettings settings = with_keys();
  settings.secret = "s3cret";
  const TestServer server(settings);
  for (const char* target : kTargets) {
    EXPECT_EQ(status_of(server, target), 403) << target;
    EXPECT_EQ(status_of(server, target, "Authorization: Bearer s3cret\r\n"), 200) << target;
  }
  EXPECT_TRUE(page_is_told(server));
}

TEST(HttpUploads, AreTakenWhereNothingBindsUrls) {
  const TestServer server(loopback());
  for (const char* target : kTargets) EXPECT_EQ(status_of(server, target), 200) << target;
  EXPECT_TRUE(page_is_told(server));
}

TEST(HttpUploads, FollowTheSettingBeforeAllOthers) {
  ServiceSettings on = with_keys();
  on.uploads = UploadMode::kOn;
  EXPECT_EQ(status_of(TestServer(on), "/v1/inspect"), 200);
  ServiceSettings off = loopback();
  off.uploads = UploadMode::kOff;
  off.secret = "s3cret";
  EXPECT_EQ(status_of(TestServer(off), "/v1/inspect", "Authorization: Bearer s3cret\r\n"), 403);
}

TEST(HttpUploads, OfUnixSocketsAreStrangersAsWell) {
  ServiceSettings settings = with_keys();
  settings.listen = {"unix:/tmp/framewire-uploads-" + std::to_string(::getpid())};
  const TestServer server(settings);
  EXPECT_EQ(status_of(server, "/v1/inspect"), 403);
}

}  // namespace
}  // namespace framewire::service::http::test
