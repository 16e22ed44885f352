// A scripted server in the place of every host, and a Sources that fetches from it.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/origin_server.hpp>

namespace framewire::service::test {

inline source::SourceSettings remote() {
  source::SourceSettings settings;
  settings.remote = true;
  return settings;
}

/// The names images.test and other.test lead to public addresses, behind which the script answers.
struct Origin {
  explicit Origin(std::function<void(Connection&)> script,
                  source::SourceSettings settings = remote())
      : server(std::move(script)), network(server.port()) {
    network.name("images.test", {{"93.184.215.14"}});
    network.name("other.test", {{"93.184.215.15"}});
    auto made = source::Sources::make(std::move(settings), network.network());
    EXPECT_TRUE(made) << made.error().to_string();
    sources = std::make_unique<source::Sources>(std::move(*made));
  }
  source::Fetched<source::Original> fetch(const std::string& url) {
    return test::fetch(*sources, url);
  }

  OriginServer server;
  FakeNetwork network;
  std::unique_ptr<source::Sources> sources;
};

}  // namespace framewire::service::test
