// Which client has to leave when more connect than are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace framewire::transport::session {

/// Counts clients by their origin; their numbers rise with time.
class Crowd {
 public:
  Crowd(std::size_t max, std::size_t max_of_one) : max_(max), max_of_one_(max_of_one) {}

  /// Which client one more of that origin displaces: none while there is room. Otherwise the oldest
  /// of the same origin if that has all it may have, else the oldest of the origin that has most.
  /// So a crowd from one origin displaces its own.
  [[nodiscard]] std::optional<std::uint64_t> displaced_by(const std::string& origin) const;
  void add(std::uint64_t number, const std::string& origin);
  void remove(std::uint64_t number, const std::string& origin);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t max_;
  std::size_t max_of_one_;
  std::size_t size_ = 0;
  std::map<std::string, std::set<std::uint64_t>> origins_;
};

}  // namespace framewire::transport::session
