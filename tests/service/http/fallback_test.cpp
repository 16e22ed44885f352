// The picture that is answered where an original cannot be had.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <service/http/fetch_answer.hpp>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

namespace scripted = service::test;

std::function<void(scripted::Connection&)> answering(const std::string& answer) {
  return scripted::answering([answer](const std::string&) { return answer; });
}

struct Fallback {
  scripted::TemporaryFolder folder;
  ServiceSettings settings = loopback();

  Fallback() {
    settings.fallback_image = folder.write("fallback.jpg", text_of(make_jpeg(640, 320))).string();
    settings.source.root = folder.path().string();
    settings.allow_raw = true;
    settings.url.keys = {};
  }
};

const std::string kFallbackTarget = "/unsafe/w:100/plain/http://images.test/a.jpg";

TEST(HttpFallback, StandsInForOriginalsThatCannotBeHad) {
  Fallback with;
  with.folder.write("broken.jpg", "no JPEG");
  with.folder.write("empty.jpg", "");
  const ImageServer images(answering("HTTP/1.1 500 Word\r\nContent-Length: 0\r\n\r\n"),
                           with.settings);
  for (const char* source : {"plain/http://images.test/a.jpg", "plain/http://no-such-name.test/",
                             "plain/none.jpg", "plain/broken.jpg", "plain/empty.jpg"}) {
    const auto answer = images.ask(std::string("/unsafe/w:100/") + source);
    ASSERT_TRUE(answer) << source;
    EXPECT_EQ(answer->status, 200) << source;
    EXPECT_EQ(size_of(answer->body), "100x50") << source << ": with the request's options";
    EXPECT_EQ(answer->field("fallback-image"), "1");
    EXPECT_EQ(answer->field("cache-control"), "max-age=60, public");
    EXPECT_EQ(answer->field("etag"), "") << source;
    EXPECT_EQ(answer->field("last-modified"), "") << source;
  }
  EXPECT_TRUE(images.server->idle());
  EXPECT_NE(images.server->log().find("the origin answered 500"), std::string::npos)
      << "the log says why";
}

TEST(HttpFetchAnswer, SaysWhatTheOriginDid) {
  const auto told = [](unsigned status) {
    source::FetchError error;
    error.kind = source::FetchErrorKind::kOriginStatus;
    error.origin_status = status;
    return std::string(fetch_answer(error).message);
  };
  EXPECT_EQ(told(404), "the origin has no such original");
  EXPECT_EQ(told(410), told(404));
  EXPECT_EQ(told(500), "the origin failed");
  for (const unsigned status : {401u, 403u, 429u, 204u}) {
    EXPECT_EQ(told(status), "the origin did not hand on the original") << status;
  }
}

TEST(HttpFallback, IsNotForGoodOriginalsNorForWrongUrls) {
  Fallback with;
  with.folder.write("good.jpg", text_of(make_jpeg(400, 300)));
  const ImageServer images(answering("HTTP/1.1 404 Word\r\nContent-Length: 0\r\n\r\n"),
                           with.settings);
  const auto good = images.ask("/unsafe/w:100/plain/good.jpg");
  EXPECT_EQ(size_of(good->body), "100x75");
  EXPECT_EQ(good->field("fallback-image"), "");
  EXPECT_EQ(images.ask("/unsafe/no-option:1/plain/none.jpg")->status, 404);
  EXPECT_EQ(images.ask("/unsafe/blur:5/plain/none.jpg")->status, 422);
  EXPECT_EQ(images.ask("/unsafe/raw:1/plain/none.jpg")->status, 404);
  EXPECT_EQ(images.ask("/unsafe/plain/ftp://images.test/a.jpg")->status, 404);
  ServiceSettings is_signed = with.settings;
  is_signed.url.keys = {"00"};
  is_signed.url.salts = {"00"};
  TestServer guarded(is_signed);
  EXPECT_EQ(TestClient(guarded.endpoint()).ask(get("/unsafe/plain/none.jpg"))->status, 403);
}

TEST(HttpFallback, StatusAndAgeAreSettings) {
  Fallback with;
  with.settings.fallback_status = 0;
  with.settings.fallback_ttl_s = 0;
  const auto script = answering("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
  {
    const ImageServer images(script, with.settings);
    const auto answer = images.ask(kFallbackTarget);
    EXPECT_EQ(answer->status, 410);
    EXPECT_EQ(size_of(answer->body), "100x50");
    EXPECT_EQ(answer->field("cache-control"), "no-cache");
  }
  with.settings.fallback_status = 418;
  const ImageServer images(script, with.settings);
  EXPECT_EQ(images.ask(kFallbackTarget)->status, 418);
}

TEST(HttpFallback, IsNotKeptInTheCache) {
  Fallback with;
  with.settings.cache_dir = (with.folder.path() / "cache").string();
  const ImageServer images(
      answering("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 4\r\n\r\nbody"), with.settings);
  for (int i = 0; i < 3; ++i) {
    const auto answer = images.ask(kFallbackTarget);
    EXPECT_EQ(answer->field("fallback-image"), "1");
    EXPECT_EQ(answer->field("cache-status"), "");
  }
}

// Whoever waits for a FIFO's writer, at a reload, too, cannot be told to end.
TEST(HttpFallbackAttack, FilesThatMakeWhoOpensThemWaitAreRefused) {
  Fallback with;
  ServiceSettings settings = with.settings;
  TestServer server(settings);
  const std::string fifo = (with.folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  settings.fallback_image = fifo;
  EXPECT_EQ(Server::start(settings, server.engine(), {}).error().code(), StatusCode::kInvalidInput);
  settings.fallback_image.clear();
  settings.presets_file = fifo;
  EXPECT_EQ(Server::start(settings, server.engine(), {}).error().code(), StatusCode::kInvalidInput);
}

TEST(HttpFallback, MustBeAPicture) {
  Fallback with;
  ServiceSettings settings = with.settings;
  const TestServer server(settings);
  settings.fallback_image = with.folder.write("text", "no JPEG").string();
  EXPECT_THROW(TestServer{settings}, std::runtime_error);
  settings.fallback_image = (with.folder.path() / "none").string();
  EXPECT_THROW(TestServer{settings}, std::runtime_error);
  for (const char* bad : {"100", "304", "600", "x", ""}) {
    EXPECT_FALSE(set_setting(settings, "fallback-status", bad)) << bad;
  }
  for (const char* bad : {"a b", "a\"", "a,b"}) {
    EXPECT_FALSE(set_setting(settings, "etag-buster", bad)) << bad;
  }
}

}  // namespace
}  // namespace framewire::service::http::test
