// What a cache tells of itself.
#pragma once

#include <cstdint>

namespace framewire::base {

/// Sizes now, and counts since the cache was made.
struct CacheUse {
  std::uint64_t bytes = 0;        ///< of what is kept for later
  std::uint64_t bound_bytes = 0;  ///< that `bytes` does not exceed
  std::uint64_t hits = 0;         ///< times that something was there
  std::uint64_t misses = 0;       ///< times that it had to be made

  CacheUse& operator+=(const CacheUse& other) noexcept {
    bytes += other.bytes;
    bound_bytes += other.bound_bytes;
    hits += other.hits;
    misses += other.misses;
    return *this;
  }
  /// Takes back an earlier +=, so that a sum can follow one of its parts.
  CacheUse& operator-=(const CacheUse& other) noexcept {
    bytes -= other.bytes;
    bound_bytes -= other.bound_bytes;
    hits -= other.hits;
    misses -= other.misses;
    return *this;
  }
};

}  // namespace framewire::base
