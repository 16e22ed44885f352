// Request ids that nobody else makes.
#pragma once

#include <base/ascii.hpp>
#include <base/random.hpp>
#include <cstdint>
#include <string>

namespace framewire::service::http {

/// Counts from a random beginning, scrambled: ids of one process never repeat, and those of two do
/// so by chance alone. They are no secrets. Not thread-safe.
class RandomIds {
 public:
  RandomIds() : high_(base::random_number<std::uint64_t>().value_or(1)) {}

  /// 32 hexadecimal digits.
  [[nodiscard]] std::string next() {
    // splitmix64 (Steele, Lea, Flood 2014): a bijection, so that no two counts give one id.
    std::uint64_t low = ++count_ * 0x9E3779B97F4A7C15u + high_;
    low = (low ^ low >> 30) * 0xBF58476D1CE4E5B9u;
    low = (low ^ low >> 27) * 0x94D049BB133111EBu;
    low ^= low >> 31;
    std::string id(32, '0');
    for (std::size_t i = 0; i < 16; ++i) {
      id[15 - i] = base::kHexDigits[high_ >> (4 * i) & 15];
      id[31 - i] = base::kHexDigits[low >> (4 * i) & 15];
    }
    return id;
  }

 private:
  std::uint64_t high_;
  std::uint64_t count_ = 0;
};

}  // namespace framewire::service::http
