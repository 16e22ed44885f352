// What /metrics tells of local clients.
#include <service/http/server.hpp>
#include <tests/service/http/client.hpp>
#include <tests/service/local/local_server_fixture.hpp>

namespace framewire::service::local::test {
namespace {

using http::ClientTransport;
using http::test::Answer;
using http::test::TestClient;

class LocalMetrics : public LocalServerTest {
 protected:
  void serve(LocalServerOptions options = {}) {
    engine_ = std::make_unique<Engine>(Engine::make(host_engine()).value());
    http::ServiceSettings settings = http::test::loopback();
    settings.metrics = {"main"};
    http_ = http::Server::start(settings, *engine_, {}).value();
    options.path = folder_.socket();
    options.counters = &http_->client_counters(ClientTransport::kLocal);
    server_.emplace(LocalServer::start(*engine_, std::move(options)).value());
  }
  void TearDown() override { server_.reset(); }
  [[nodiscard]] bool told(const std::string& line) const {
    return soon([&] {
      TestClient client(http_->endpoints().front());
      const auto answer = client.ask(http::test::get("/metrics"));
      return answer && answer->body.find("\nframewire_client_" + line + "\n") != std::string::npos;
    });
  }

  std::unique_ptr<http::Server> http_;
};

TEST_F(LocalMetrics, CountWhatClientsDo) {
  LocalServerOptions options;
  options.max_clients = 1;
  serve(std::move(options));
  const Bytes file = photo();
  std::size_t bytes = 0;
  {
    Client client = connect();
    for (int i = 0; i < 3; ++i) bytes += client.resize(file, width(40)).value().bytes.size();
    EXPECT_FALSE(client.resize(Bytes(1000, 'x'), {}));
    EXPECT_FALSE(Client::connect(folder_.socket(), small_client()));
    EXPECT_TRUE(told("connections{transport=\"local\"} 1"));
  }
  EXPECT_TRUE(told("connections{transport=\"local\"} 0"));
  EXPECT_TRUE(told("connections_total{transport=\"local\"} 1"));
  EXPECT_TRUE(told("refused_connections_total{transport=\"local\"} 1"));
  EXPECT_TRUE(told("requests_total{transport=\"local\",result=\"resized\"} 3"));
  EXPECT_TRUE(told("requests_total{transport=\"local\",result=\"failed\"} 1"));
  EXPECT_TRUE(told("requests_total{transport=\"local\",result=\"refused\"} 0"));
  EXPECT_TRUE(
      told("input_bytes_total{transport=\"local\"} " + std::to_string(3 * file.size() + 1000)));
  EXPECT_TRUE(told("output_bytes_total{transport=\"local\"} " + std::to_string(bytes)));
  EXPECT_TRUE(told("requests_total{transport=\"stream\",result=\"resized\"} 0"));
}

TEST_F(LocalMetrics, CountWhatADrainingServerRefuses) {
  serve();
  Client client = connect();
  EXPECT_TRUE(server_->drain(kPatience));
  EXPECT_FALSE(client.resize(photo(), width(40)));
  EXPECT_TRUE(told("requests_total{transport=\"local\",result=\"refused\"} 1"));
}

}  // namespace
}  // namespace framewire::service::local::test
