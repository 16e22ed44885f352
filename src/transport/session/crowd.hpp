// Who has to leave when more come than there is room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace framewire::transport::session {

/// Counts what is there, by where it came from; numbers rise with time.
class Crowd {
 public:
  Crowd(std::size_t most, std::size_t most_of_one) : most_(most), most_of_one_(most_of_one) {}

  /// Whom one more of that origin displaces: nobody while there is room; else the one that has been
  /// there longest of its own origin, if that has its fill, or of the origin that has most. So a
  /// crowd displaces its own.
  [[nodiscard]] std::optional<std::uint64_t> displaced_by(const std::string& origin) const;
  void add(std::uint64_t number, const std::string& origin);
  void remove(std::uint64_t number, const std::string& origin);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t most_;
  std::size_t most_of_one_;
  std::size_t size_ = 0;
  std::map<std::string, std::set<std::uint64_t>> origins_;
};

}  // namespace framewire::transport::session
