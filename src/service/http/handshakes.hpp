// TLS handshakes of one I/O thread that are under way, and which of them gives way to another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <service/http/admission.hpp>
#include <unordered_map>
#include <vector>

namespace framewire::service::http {

class Connection;

/// Handshakes in the order in which they began. One thread. Their number bounds the cost of all
/// members.
class TlsHandshakes {
 public:
  void add(Connection* connection, ClientKey client) { under_way_.push_back({connection, client}); }
  /// @return whether it was under way
  bool remove(const Connection* connection) noexcept {
    return std::erase_if(under_way_,
                         [&](const UnderWay& one) { return one.connection == connection; }) != 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return under_way_.size(); }

  /// Whom to close so that there is room for another: the oldest of the client that has most of
  /// them. Who floods closes his own. @return null where there is none
  [[nodiscard]] Connection* giving_way() const {
    std::unordered_map<std::uint64_t, std::size_t> counts;
    for (const UnderWay& one : under_way_) ++counts[one.client.key];
    const UnderWay* chosen = nullptr;
    std::size_t most = 0;
    for (const UnderWay& one : under_way_) {
      const std::size_t count = counts[one.client.key];
      if (count <= most) continue;
      most = count;
      chosen = &one;
    }
    return chosen == nullptr ? nullptr : chosen->connection;
  }

 private:
  struct UnderWay {
    Connection* connection;
    ClientKey client;
  };
  std::vector<UnderWay> under_way_;
};

}  // namespace framewire::service::http
