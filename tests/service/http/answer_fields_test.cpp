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

}  // namespace
}  // namespace framewire::service::http::test
