// A server of pictures by URL, with a scripted origin behind every host.
#pragma once

#include <service/http/server.hpp>
#include <string>
#include <tests/service/http/client.hpp>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/origin_server.hpp>

namespace framewire::service::http::test {

/// A picture of such a server.
inline const std::string kImageTarget = "/unsafe/w:100/plain/http://images.test/a.jpg";

struct ImageServer {
  explicit ImageServer(std::function<void(service::test::Connection&)> script,
                       ServiceSettings settings = loopback())
      : origin(std::move(script)), network(origin.port()) {
    network.name("images.test", {{"93.184.215.14"}});
    settings.source.remote = true;
    system = network.network();
    server = std::make_unique<TestServer>(settings, &system);
  }

  /// One request on a connection of its own.
  [[nodiscard]] std::optional<Answer> ask(const std::string& target, std::string_view fields = "",
                                          const std::string& method = "GET") const {
    TestClient client(server->endpoint());
    return client.ask(
        method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) + "\r\n",
        method != "HEAD");
  }

  /// Whether so many requests have come and are not answered, those that share work included.
  [[nodiscard]] bool are_under_way(int count) const {
    TestClient client(server->endpoint());
    const auto metrics = client.ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const std::string line = "\nframewire_requests_in_progress " + std::to_string(count) + "\n";
    return metrics && metrics->body.find(line) != std::string::npos;
  }

  service::test::OriginServer origin;
  service::test::FakeNetwork network;
  source::Network system;
  std::unique_ptr<TestServer> server;
};

}  // namespace framewire::service::http::test
