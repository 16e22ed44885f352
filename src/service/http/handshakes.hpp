// TLS handshakes of one I/O thread that are under way, and which of them gives way to another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <service/http/admission.hpp>
#include <unordered_map>
#include <vector>

namespace framewire::service::http {

class Connection;

/// Handshakes in the order in which they began. One thread. Their number bounds the cost of all
/// members.
class TlsHandshakes {
 public:
  void add(Connection* connection, ClientKey client) {
    std::size_t& count = counts_[client.key];
    under_way_.push_back({connection, client});
    ++count;
  }
  /// @return whether it was under way
  bool remove(const Connection* connection) noexcept {
    const auto found = std::ranges::find(under_way_, connection, &UnderWay::connection);
    if (found == under_way_.end()) return false;
    const auto count = counts_.find(found->client.key);
    if (--count->second == 0) counts_.erase(count);
    under_way_.erase(found);
    return true;
  }
  /// How many the client has that has most of them.
  [[nodiscard]] std::size_t most_of_one() const noexcept {
    std::size_t most = 0;
    for (const auto& [client, count] : counts_) most = std::max(most, count);
    return most;
  }

  /// Whom to close so that there is room for another: the oldest of the client that has most of
  /// them. Who floods closes his own. @return null where there is none
  [[nodiscard]] Connection* giving_way() const noexcept {
    const std::size_t most = most_of_one();
    const auto oldest = std::ranges::find_if(under_way_, [&](const UnderWay& one) {
      const auto count = counts_.find(one.client.key);
      return count != counts_.end() && count->second == most;
    });
    return oldest == under_way_.end() ? nullptr : oldest->connection;
  }

 private:
  struct UnderWay {
    Connection* connection;
    ClientKey client;
  };
  std::vector<UnderWay> under_way_;
  std::unordered_map<std::uint64_t, std::size_t> counts_;  ///< of each client
};

}  // namespace framewire::service::http
