// Names and addresses as a test says, with a server on loopback behind each of them.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <service/source/network.hpp>
#include <service/source/sources.hpp>
#include <string>
#include <vector>

namespace framewire::service::test {

/// Must outlive the Sources that uses it.
class FakeNetwork {
 public:
  /// @param port  of the server on 127.0.0.1 that answers in every host's place
  explicit FakeNetwork(std::uint16_t port) : port_(port) {}

  /// What a lookup of the name brings; several answers are given one a lookup, the last for ever.
  void name(const std::string& host, std::vector<std::vector<std::string>> answers) {
    names_[host] = std::move(answers);
  }

  [[nodiscard]] source::Network network() {
    return {[this](const std::string& host) { return resolve(host); },
            [this](sockaddr_storage& address) { dial(address); }};
  }

  /// Addresses that were judged, permitted, and would have been dialled.
  [[nodiscard]] std::vector<source::IpAddress> dialled() const {
    const std::lock_guard lock(mutex_);
    return dialled_;
  }
  [[nodiscard]] std::size_t lookups() const {
    const std::lock_guard lock(mutex_);
    return lookups_;
  }

 private:
  tl::expected<std::vector<source::IpAddress>, std::string> resolve(const std::string& host) {
    const std::lock_guard lock(mutex_);
    ++lookups_;
    const auto found = names_.find(host);
    if (found == names_.end()) return tl::unexpected(std::string("no such name"));
    std::vector<std::vector<std::string>>& answers = found->second;
    std::vector<source::IpAddress> result;
    for (const std::string& text : answers.front()) {
      result.push_back(source::parse_address(text).value());
    }
    if (answers.size() > 1) answers.erase(answers.begin());
    return result;
  }

  void dial(sockaddr_storage& address) {
    const std::lock_guard lock(mutex_);
    const auto* as_address = reinterpret_cast<const sockaddr*>(&address);
    dialled_.push_back(source::address_of(as_address, sizeof address).value());
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(port_);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address = {};
    std::memcpy(&address, &server, sizeof server);
  }

  std::uint16_t port_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::vector<std::string>>> names_;
  std::vector<source::IpAddress> dialled_;
  std::size_t lookups_ = 0;
};

/// Credentials for an object store, in the place of the process's environment.
inline store::EnvironmentLookup store_keys() {
  return [](const char* name) -> std::optional<std::string> {
    const std::string_view variable(name);
    if (variable == "AWS_ACCESS_KEY_ID") return "AKTEST";
    if (variable == "AWS_SECRET_ACCESS_KEY") return "SECRETTEST";
    // No files, and no service beside the machine.
    if (variable.ends_with("_FILE")) return "/nonexistent";
    if (variable == "AWS_EC2_METADATA_DISABLED") return "true";
    return std::nullopt;
  };
}

/// Fetches and waits.
inline source::Fetched<source::Original> fetch(source::Sources& sources,
                                               source::FetchRequest request) {
  auto promise = std::make_shared<std::promise<source::Fetched<source::Original>>>();
  auto answer = promise->get_future();
  const auto begun = sources.fetch(
      std::move(request), [promise](auto result) { promise->set_value(std::move(result)); });
  if (!begun) return tl::unexpected(begun.error());
  return answer.get();
}

inline source::Fetched<source::Original> fetch(source::Sources& sources, std::string url) {
  source::FetchRequest request;
  request.url = std::move(url);
  return fetch(sources, std::move(request));
}

inline std::string text(const source::Original& original) {
  return {original.bytes.begin(), original.bytes.end()};
}

}  // namespace framewire::service::test
