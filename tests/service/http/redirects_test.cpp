// Originals behind redirects that lead elsewhere by and by: the client's conditions.
#include <gtest/gtest.h>
#include <atomic>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

namespace scripted = service::test;

const std::string kTarget = "/unsafe/w:100/plain/http://images.test/a.jpg";
const std::string kDate = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Two pictures with one ETag and one date, and a redirect to either.
struct TwoOriginals {
  explicit TwoOriginals(std::string describing, const ServiceSettings& settings = loopback())
      : fields(std::move(describing)),
        images(scripted::answering([this](const std::string& head) { return answer(head); }),
               settings) {}

  std::string answer(const std::string& head) {
    if (head.starts_with("GET /a.jpg ")) {
      return scripted::status(302, second ? "Location: /two.jpg\r\n" : "Location: /one.jpg\r\n");
    }
    if (head.find("If-None-Match: \"1\"") != std::string::npos ||
        head.find("If-Modified-Since: " + kDate) != std::string::npos) {
      return "HTTP/1.1 304 Not Modified\r\n" + fields + "\r\n";
    }
    return scripted::ok(head.starts_with("GET /two.jpg ") ? two : one, fields);
  }

  std::string fields;
  std::string one = text_of(make_jpeg(400, 300));
  std::string two = text_of(make_jpeg(400, 400));
  std::atomic<bool> second = false;
  ImageServer images;
};

TEST(HttpRedirects, ATagSaysWhereTheyLed) {
  const scripted::TemporaryFolder folder;
  ServiceSettings cached = loopback();
  cached.cache_dir = (folder.path() / "cache").string();
  for (const ServiceSettings& settings : {loopback(), cached}) {
    TwoOriginals at("ETag: \"1\"\r\n", settings);
    const auto first = at.images.ask(kTarget);
    ASSERT_TRUE(first);
    EXPECT_EQ(size_of(first->body), "100x75");
    const std::string condition = "If-None-Match: " + first->field("etag") + "\r\n";
    EXPECT_EQ(at.images.ask(kTarget, condition)->status, 304);
    at.second = true;
    const auto other = at.images.ask(kTarget, condition);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->status, 200) << "the origin's 304 speaks of another original";
    EXPECT_EQ(size_of(other->body), "100x100");
    EXPECT_NE(other->field("etag"), first->field("etag"));
    const std::string both = "If-None-Match: " + other->field("etag") + "\r\n";
    EXPECT_EQ(at.images.ask(kTarget, both)->status, 304);
  }
}

// A date cannot say it.
TEST(HttpRedirects, ADateIsNotBelievedBehindThem) {
  TwoOriginals at("Last-Modified: " + kDate + "\r\n");
  EXPECT_EQ(size_of(at.images.ask(kTarget)->body), "100x75");
  at.second = true;
  const auto other = at.images.ask(kTarget, "If-Modified-Since: " + kDate + "\r\n");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 200);
  EXPECT_EQ(size_of(other->body), "100x100");
  const auto direct = at.images.ask("/unsafe/w:100/plain/http://images.test/one.jpg",
                                    "If-Modified-Since: " + kDate + "\r\n");
  EXPECT_EQ(direct->status, 304);
}

// An origin that says 304 to whatever it is asked does not keep us asking.
TEST(HttpRedirectsAttack, A304WithoutAQuestionIsAnError) {
  const ImageServer images(scripted::answering([](const std::string& head) -> std::string {
    if (head.starts_with("GET /a.jpg ")) return scripted::status(302, "Location: /one.jpg\r\n");
    return "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
  }));
  EXPECT_EQ(images.ask(kTarget, "If-Modified-Since: " + kDate + "\r\n")->status, 404);
}

}  // namespace
}  // namespace framewire::service::http::test
