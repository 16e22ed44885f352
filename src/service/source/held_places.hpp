// Who holds how many of a number of places: connections, or threads that look names up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace framewire::service::source {

/// One client leaves an eighth of the places, and at least one, to others: whoever makes origins
/// or name servers slow holds what they take for seconds, and others would wait that long.
///
/// Client 0 is nobody in particular. It may hold all, and counts as one who holds nothing.
/// Thread safety: one thread at a time.
class HeldPlaces {
 public:
  explicit HeldPlaces(unsigned places) noexcept : places_(places) {}

  [[nodiscard]] bool has_room(std::uint64_t client) const noexcept {
    return held_ < places_ && (client == 0 || of(client) < max_of_one());
  }
  [[nodiscard]] bool full() const noexcept { return held_ >= places_; }
  [[nodiscard]] bool empty() const noexcept { return held_ == 0; }
  /// How many the client holds.
  [[nodiscard]] unsigned of(std::uint64_t client) const noexcept {
    const auto found = clients_.find(client);
    return found == clients_.end() ? 0 : found->second;
  }
  /// Throws std::bad_alloc, and has changed nothing then; not for client 0.
  void take(std::uint64_t client) {
    if (client != 0) ++clients_[client];
    ++held_;
  }
  void give_back(std::uint64_t client) noexcept {
    --held_;
    const auto found = clients_.find(client);
    if (found != clients_.end() && --found->second == 0) clients_.erase(found);
  }

 private:
  [[nodiscard]] unsigned max_of_one() const noexcept {
    constexpr unsigned kPartOfOthers = 8;
    if (places_ <= 1) return places_;
    return places_ - std::max(places_ / kPartOfOthers, 1U);
  }

  unsigned places_;
  unsigned held_ = 0;
  std::unordered_map<std::uint64_t, unsigned> clients_;  ///< those that hold some
};

}  // namespace framewire::service::source
