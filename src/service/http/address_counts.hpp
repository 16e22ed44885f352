// How many connections each address has.
#pragma once

#include <cstdint>
#include <mutex>
#include <service/http/admission.hpp>
#include <unordered_map>

namespace framewire::service::http {

/// Memory grows with connections, not with addresses that were ever seen. Thread safety: all
/// members from any thread.
class AddressCounts {
 public:
  /// Clients that cannot be told from others count as nobody. Throws std::bad_alloc
  void add(ClientKey client) {
    if (client.key == 0) return;
    const std::lock_guard lock(mutex_);
    ++counts_[client.key];
  }
  void remove(ClientKey client) noexcept {
    if (client.key == 0) return;
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(client.key);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }
  [[nodiscard]] std::uint64_t of(ClientKey client) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(client.key);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;
};

}  // namespace framewire::service::http
