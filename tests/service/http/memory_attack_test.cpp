// Memory that runs out anywhere between a head and its answer costs that request alone.
#include <gtest/gtest.h>
#include <tests/service/http/exhaust.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

void exhaust_by(TestServer& server, const std::string& request) {
  const auto ask = [&] {
    const auto answer = TestClient(server.endpoint()).ask(request);
    return answer ? Told{answer->status, answer->body} : Told();
  };
  exhaust(server, ask, 20);
}

TEST(HttpMemoryAttack, EveryAllocationOfAPostFails) {
  TestServer server(exhausted());
  exhaust_by(server, post("/v1/resize?size=16x", text_of(make_jpeg(32, 32))));
}

TEST(HttpMemoryAttack, EveryAllocationOfAChunkedPostFails) {
  TestServer server(exhausted());
  const std::string body = text_of(make_jpeg(32, 32));
  char size[32];
  (void)std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  exhaust_by(server,
             "POST /v1/inspect HTTP/1.1\r\nHost: test\r\nContent-Type: image/jpeg\r\n"
             "Transfer-Encoding: chunked\r\n\r\n" +
                 (size + body) + "\r\n0\r\n\r\n");
}

TEST(HttpMemoryAttack, EveryAllocationOfAGetFails) {
  for (const bool cached : {false, true}) {
    const service::test::TemporaryFolder folder;
    folder.write("a folder with a long name/a.jpg", text_of(make_jpeg(32, 32)));
    ServiceSettings settings = exhausted();
    settings.source.root = folder.path().string();
    if (cached) settings.cache_dir = (folder.path() / "cache").string();
    TestServer server(settings);
    exhaust_by(server, get("/unsafe/w:16/plain/a%20folder%20with%20a%20long%20name/a.jpg"));
  }
}

}  // namespace
}  // namespace framewire::service::http::test
