// The server's options of pictures where a URL says nothing.
#include <gtest/gtest.h>
#include <tests/service/http/client.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <tests/support/held_engine.hpp>

namespace framewire::service::http::test {
namespace {

TEST(HttpServerDefaults, CountForUrlsAsForBodies) {
  const service::test::TemporaryFolder folder;
  const std::string jpeg = text_of(make_jpeg(400, 300));
  folder.write("a.jpg", jpeg);
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  settings.defaults.width_px = 200;
  settings.defaults.max_result_side_px = 250;
  TestServer server(settings);
  TestClient client(server.endpoint());
  EXPECT_EQ(size_of(client.ask(post("/v1/resize", jpeg))->body), "200x150");
  const auto size = [&](const std::string& options) {
    return size_of(client.ask(get("/unsafe/" + options + "plain/a.jpg"))->body);
  };
  EXPECT_EQ(size(""), "200x150");
  EXPECT_EQ(size("w:100/"), "100x75");
  EXPECT_EQ(size("w:0/"), "250x188") << "--max-result-side bounds URLs";
  EXPECT_EQ(size("w:300/el:1/dpr:4/"), "250x188");
}

TEST(HttpServerDefaults, AreWhatTheListOfOptionsSays) {
  ServiceSettings settings = loopback();
  settings.defaults.quality = 61;
  settings.defaults.enlarge = true;
  TestServer server(settings);
  const auto listed = [&](const std::string& name) {
    const auto answer = TestClient(server.endpoint()).ask(get("/v1/options"));
    const std::string text = answer ? answer->body : "";
    const auto at = text.find("\"default\": ", text.find("\"name\": \"" + name + "\""));
    return at == std::string::npos ? "" : text.substr(at + 11, text.find('\n', at) - at - 12);
  };
  EXPECT_EQ(listed("quality"), "\"61\"");
  EXPECT_EQ(listed("enlarge"), "\"true\"");
  EXPECT_EQ(listed("sharpen"), "\"0\"");
}

// --max-input-bytes is what the operator says, also for originals that nobody decodes.
TEST(HttpServerDefaults, LimitsHoldForRawOriginals) {
  const service::test::TemporaryFolder folder;
  folder.write("large", std::string(70u << 20, 'x'));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  settings.allow_raw = true;
  const auto status = [&](std::uint64_t max_bytes) {
    settings.defaults.limits.max_input_bytes = max_bytes;
    TestServer server(settings);
    const auto answer = TestClient(server.endpoint()).ask(get("/unsafe/raw:1/plain/large"));
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status(80u << 20), 200);
  EXPECT_EQ(status(60u << 20), 422);
}

// What is not said and what is said differ in bytes, so they are no equal requests.
TEST(HttpServerDefaults, NoAnswerIsSharedWithAUrlThatSaysOtherwise) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  settings.defaults.dpr = 2;
  settings.defaults.sharpen_sigma = 3;
  TestServer server(settings);
  framewire::test::HeldEngine held(server.engine(), 1);
  const char* targets[] = {"/unsafe/w:100/plain/a.jpg", "/unsafe/w:100/dpr:1/plain/a.jpg",
                           "/unsafe/w:100/sh:0/plain/a.jpg"};
  std::list<TestClient> clients;
  for (const char* target : targets) {
    ASSERT_TRUE(clients.emplace_back(server.endpoint()).send(get(target)));
  }
  EXPECT_TRUE(within_a_minute([&] { return server.server().state().requests == 3; }));
  held.release();
  std::vector<std::string> bodies;
  for (TestClient& client : clients) bodies.push_back(client.receive()->body);
  EXPECT_EQ(size_of(bodies[0]), "200x150");
  EXPECT_EQ(size_of(bodies[1]), "100x75");
  EXPECT_NE(bodies[0], bodies[2]);
}

}  // namespace
}  // namespace framewire::service::http::test
