// Profiles that are kept ready: reading one costs microseconds, a lookup table's conversion as much
// as many images.
#pragma once

#include <atomic>
#include <base/cache_use.hpp>
#include <base/random.hpp>
#include <color/profile_conversion.hpp>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <jpeg/types.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace framewire::engine {

/// Conversions by the bytes of their profile that count (color::reduce_profile()) and the number of
/// channels. A profile that is seen the first time is on probation, and may be displaced by any
/// other; from its second use on it is protected, and may be displaced only by others that were
/// used twice (segmented LRU: Karedla, Love and Wherry 1994). A stranger with a new profile for
/// each request displaces what is on probation alone. Thread-safe.
class ConverterCache {
 public:
  static constexpr std::size_t kDefaultBytes = 64u << 20;

  /// @param max_bytes  of all that is kept, the profiles' own bytes included
  explicit ConverterCache(std::size_t max_bytes = kDefaultBytes)
      : max_bytes_(max_bytes), seed_(base::random_seed()) {}

  using Conversion = std::shared_ptr<const color::ProfileConversion>;
  /// What a file's profile is good for. What is not simple has yet to be prepared.
  /// @return never null; as color::reduce_profile()
  /// @cost for a profile that is kept, a copy of what counts of it and a comparison. Throws
  ///       std::bad_alloc
  [[nodiscard]] Result<Conversion> find(const jpeg::JpegFile& file);
  /// Prepares a conversion and counts what it holds now. @return as its prepare()
  [[nodiscard]] Result<void> prepare(const Conversion& conversion, color::Side side);

  /// Bytes of all entries, at most max_bytes.
  [[nodiscard]] std::size_t held_bytes() const;
  /// The same, the bound, and how often a profile was there.
  [[nodiscard]] base::CacheUse use() const;
  [[nodiscard]] ProfileStats stats() const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    Conversion conversion;
    std::size_t bytes = 0;
    bool is_protected = false;
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] Conversion look_up(std::uint64_t hash, std::span<const std::uint8_t> reduced,
                                   int channels);
  [[nodiscard]] Conversion insert(std::uint64_t hash, Conversion made);
  void touch(Entries::iterator entry);
  void demote_beyond_share();
  void trim();
  void remove_last(Entries& from);

  const std::size_t max_bytes_;
  const std::uint64_t seed_;  ///< nobody can choose profiles of one hash
  mutable std::mutex mutex_;
  Entries probation_;  ///< most recently used first, as is protected_
  Entries protected_;
  std::unordered_map<std::uint64_t, Entries::iterator> by_hash_;
  std::size_t bytes_ = 0;            ///< of both lists
  std::size_t protected_bytes_ = 0;  ///< of protected_
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> prepared_{0};
};

}  // namespace framewire::engine
