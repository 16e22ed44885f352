// A server for clients on other hosts, reached over loopback, and keys for it.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <service/remote/remote_server.hpp>
#include <string>
#include <tests/service/local/local_server_fixture.hpp>
#include <vector>

namespace framewire::service::remote::test {

using framewire::test::HeldEngine;
using local::test::expect_equal;
using local::test::host_engine;
using local::test::kPatience;
using local::test::photo;
using local::test::small_client;
using local::test::SocketFolder;
using local::test::soon;
using local::test::width;
using sample::Bytes;

class RemoteServerTest : public testing::Test {
 protected:
  RemoteServerTest() {
    write_keys("keys",
               "ann 00112233445566778899aabbccddeeff\n"
               "bob ffeeddccbbaa99887766554433221100\n");
    write_keys("other",
               "ann 99999999999999999999999999999999\n"
               "eve 00112233445566778899aabbccddeeff\n");
  }

  void write_keys(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), 0600);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }

  /// @param port  0: a free one
  void start(RemoteServerOptions options = {}, std::uint16_t port = 0,
             const http::ClientAdmission::Bounds& bounds = {}) {
    if (engine_ == nullptr) {
      engine_ = std::make_unique<Engine>(Engine::make(host_engine()).value());
      pictures_ = std::make_unique<OwnEngine>(*engine_);
    }
    admission_ = std::make_unique<http::ClientAdmission>(bounds);
    options.address = fmt::format(":{}", port);
    options.security.psk_file = path("keys");
    options.counters = &counters_;
    options.on_event = [this](const RemoteEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
    auto started = RemoteServer::start(*pictures_, *admission_, std::move(options));
    ASSERT_TRUE(started) << started.error().to_string();
    server_.emplace(std::move(*started));
  }
  [[nodiscard]] std::string address() const { return fmt::format(":{}", server_->port()); }
  [[nodiscard]] transport::SessionOptions session(const std::string& keys = "keys",
                                                  const std::string& name = "") const {
    transport::SessionOptions options;
    options.security.psk_file = path(keys);
    options.security.psk_name = name;
    options.links = {transport::kStreamLink};
    return options;
  }
  [[nodiscard]] Client connect(const ClientOptions& options = small_client(),
                               const std::string& name = "") const {
    auto client = Client::connect(address(), session("keys", name), options);
    if (!client) throw std::runtime_error(client.error().to_string());
    return std::move(*client);
  }
  [[nodiscard]] std::size_t count(RemoteEvent::Kind kind) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(events_, kind, &RemoteEvent::kind));
  }
  /// The status with which a connection ends, now or soon.
  [[nodiscard]] Status end_of(RemoteEvent::Kind kind, std::size_t which = 0) const {
    std::optional<Status> found;
    (void)soon([&] {
      const std::lock_guard lock(mutex_);
      std::size_t seen = 0;
      for (const RemoteEvent& event : events_) {
        if (event.kind == kind && seen++ == which) found = event.status;
      }
      return found.has_value();
    });
    return found.value_or(Status(StatusCode::kInternal, "it has not ended"));
  }

  SocketFolder folder_;
  mutable std::mutex mutex_;
  std::vector<RemoteEvent> events_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<OwnEngine> pictures_;
  ClientCounters counters_;
  std::unique_ptr<http::ClientAdmission> admission_;
  std::optional<RemoteServer> server_;
};

}  // namespace framewire::service::remote::test
