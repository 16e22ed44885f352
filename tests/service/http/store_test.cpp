// Originals of an object store that fails: how the service answers, and what it logs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tests/service/http/client.hpp>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/origin_server.hpp>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
namespace scripted = service::test;

constexpr const char* kObject = "/unsafe/w:20/plain/s3://photos/a.jpg";

struct StoreServer {
  explicit StoreServer(const std::string& endpoint) : network(1), system(network.network()) {
    system.environment = scripted::store_keys();
    ServiceSettings settings = loopback();
    settings.source.objects.on = true;
    settings.source.objects.store.endpoint = endpoint;
    settings.source.download_timeout = 700ms;
    server = std::make_unique<TestServer>(settings, &system);
  }
  /// Asks, and leaves in `logged` what the log says of it.
  [[nodiscard]] std::optional<Answer> ask() {
    TestClient client(server->endpoint());
    auto answer = client.ask(get(kObject));
    EXPECT_TRUE(eventually([&] { return server->log().find("/unsafe/") != std::string::npos; }));
    std::istringstream lines(server->log());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("/unsafe/") != std::string::npos) logged = json::parse(line);
    }
    return answer;
  }

  scripted::FakeNetwork network;
  source::Network system;
  std::unique_ptr<TestServer> server;
  json logged;
};

std::string endpoint_of(const scripted::OriginServer& store) {
  return fmt::format("http://127.0.0.1:{}", store.port());
}

TEST(HttpStore, ThatRefusesConnectionsIsTheServersFailure) {
  StoreServer service("http://127.0.0.1:1");
  const auto answer = service.ask();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->status == 502 || answer->status == 504) << answer->status;
  EXPECT_EQ(answer->body.find("127.0.0.1"), std::string::npos) << answer->body;
  EXPECT_EQ(service.logged["level"], "error");
  EXPECT_NE(service.logged["message"].get<std::string>().find("s3://photos/a.jpg"),
            std::string::npos);
}

TEST(HttpStore, ThatIsSilentIsTooSlow) {
  const scripted::OriginServer store([](scripted::Connection& connection) {
    (void)connection.read_head();
    connection.stall(10'000);
  });
  StoreServer service(endpoint_of(store));
  EXPECT_EQ(service.ask()->status, 504);
  EXPECT_EQ(service.logged["level"], "error");
}

TEST(HttpStore, ThatRedirectsIsAnotherThanTheOperatorMeant) {
  const scripted::OriginServer store(scripted::answering([](const std::string&) {
    return std::string("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n");
  }));
  StoreServer service(endpoint_of(store));
  EXPECT_EQ(service.ask()->status, 502);
  EXPECT_EQ(service.logged["level"], "error");
}

TEST(HttpStore, ThatHasNoSuchObjectIsFine) {
  const scripted::OriginServer store(scripted::answering([](const std::string&) {
    return std::string("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
  }));
  StoreServer service(endpoint_of(store));
  EXPECT_EQ(service.ask()->status, 404);
  EXPECT_EQ(service.logged["level"], "info");
}

}  // namespace
}  // namespace framewire::service::http::test
