// Fields of answers that repeat what a stranger, an origin or a file says.
#include <gtest/gtest.h>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

namespace scripted = service::test;

TEST(HttpAnswerFields, AnOriginsLastModifiedIsADateOrNone) {
  for (const std::string& said :
       {std::string("garbage"), std::string("0"), std::string("Sun, 06 Nov 1994 08:49:37 GMT"),
        std::string("Thu, 01 Jan 1970 00:00:00 GMT")}) {
    const ImageServer images(scripted::answering([&](const std::string&) {
      return scripted::ok(text_of(make_jpeg(40, 30)), "Last-Modified: " + said + "\r\n");
    }));
    const auto answer = images.ask("/unsafe/w:20/plain/http://images.test/a.jpg");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->field("last-modified"), said.ends_with(" GMT") ? said : "");
  }
}

TEST(HttpAnswerFields, FilenameStarIsUtf8OrNotThere) {
  const scripted::TemporaryFolder folder;
  folder.write("\xFF\xFE.jpg", text_of(make_jpeg(40, 30)));
  folder.write("\xC3\xBC.jpg", text_of(make_jpeg(40, 30)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  const TestServer server(settings);
  const auto disposition = [&](const std::string& name) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(get("/unsafe/w:20/plain/" + name));
    return answer ? answer->field("content-disposition") : "no answer";
  };
  EXPECT_EQ(disposition("%FF%FE.jpg"), "inline; filename=\"__.jpg\"");
  EXPECT_EQ(disposition("%C3%BC.jpg"), "inline; filename=\"__.jpg\"; filename*=UTF-8''%C3%BC.jpg");
}

TEST(HttpAnswerFields, TheSchemeOfASecretCountsInAnyCase) {
  ServiceSettings settings = loopback();
  settings.secret = "S3cret";
  const TestServer server(settings);
  const auto status = [&](const std::string& value) {
    TestClient client(server.endpoint());
    std::string request = post("/v1/inspect", text_of(make_jpeg(40, 30)));
    request.insert(request.find("\r\n") + 2, "Authorization: " + value + "\r\n");
    const auto answer = client.ask(request);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status("Bearer S3cret"), 200);
  EXPECT_EQ(status("bearer S3cret"), 200);
  EXPECT_EQ(status("BEARER S3cret"), 200);
  EXPECT_EQ(status("Bearer s3cret"), 403) << "the secret itself does not";
  EXPECT_EQ(status("Basic  S3cret"), 403);
  EXPECT_EQ(status("bearer  S3cret"), 403);
}

// docs/serve.md says so: which target a head has may not be known yet.
TEST(HttpAnswerFields, ErrorsOfTheHeadAreTextAndOthersOfTheApiJson) {
  const TestServer server(loopback());
  const auto type = [&](const std::string& request, int status) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(request);
    EXPECT_EQ(answer ? answer->status : 0, status) << request;
    return answer ? answer->field("content-type") : "no answer";
  };
  const std::string head = "POST /v1/resize HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [fields, status] :
       {std::pair{"Content-Length: 9\r\nExpect: 100-foo\r\n\r\n", 417},
        {"Transfer-Encoding: gzip\r\n\r\n", 501},
        {"Content-Length: nine\r\n\r\n", 400}}) {
    EXPECT_TRUE(type(head + fields, status).starts_with("text/plain")) << fields;
  }
  EXPECT_EQ(type(head + "\r\n", 411), "application/json");
  EXPECT_EQ(type(get("/v1/nothing"), 404), "application/json");
}

TEST(HttpAnswerFields, TheLogSaysWhyAnAddressIsRefusedAndTheAnswerDoesNot) {
  ServiceSettings settings = loopback();
  settings.source.remote = true;
  TestServer server(settings);
  TestClient client(server.endpoint());
  const auto answer = client.ask(get("/unsafe/w:20/plain/http://127.0.0.1/a.jpg"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body.find("127.0.0.1"), std::string::npos) << answer->body;
  const std::string reason = "127.0.0.1 is of this machine; accepted with --allow-loopback";
  EXPECT_TRUE(within_a_minute([&] { return server.log().find(reason) != std::string::npos; }))
      << server.log();
}

// What a browser asks before a page of another origin may send a picture or the secret.
TEST(HttpAnswerFields, PagesOfTheAllowedOriginMaySendPictures) {
  ServiceSettings settings = loopback();
  settings.allow_origin = "https://app.example";
  TestServer server(settings);
  const auto ask = [&](const std::string& target) {
    TestClient client(server.endpoint());
    return client.ask("OPTIONS " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  const auto upload = ask("/v1/resize");
  ASSERT_TRUE(upload);
  EXPECT_EQ(upload->status, 200);
  EXPECT_EQ(upload->field("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(upload->field("access-control-allow-methods"), "POST, OPTIONS");
  EXPECT_EQ(upload->field("access-control-allow-headers"), "Authorization, Content-Type");
  const auto metrics = ask("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->field("access-control-allow-methods"), "");
}

}  // namespace
}  // namespace framewire::service::http::test
