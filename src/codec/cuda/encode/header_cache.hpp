// Headers of output streams, made once for all images that differ in nothing but their pixels.
#pragma once

#include <base/cache_use.hpp>
#include <cstdint>
#include <list>
#include <plan/plan.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace framewire::codec::cuda {

/// Not thread-safe.
class HeaderCache {
 public:
  /// Some thousand headers; a batch has up to 512 images.
  static constexpr std::uint64_t kMaxBytes = 4u << 20;

  /// `head`, then the segments from DQT to SOS. Valid until trim().
  [[nodiscard]] std::span<const std::uint8_t> get(std::span<const std::uint8_t> head,
                                                  const plan::EncodePlan& encode);
  /// Call it between batches: forgets the headers used longest ago, until kMaxBytes hold the rest.
  void trim();
  [[nodiscard]] const base::CacheUse& use() const noexcept { return use_; }

 private:
  struct Entry {
    std::string key;
    std::vector<std::uint8_t> header;
  };
  using Entries = std::list<Entry>;
  static std::uint64_t bytes_of(const Entry& entry);

  std::string key_;
  Entries entries_;                                                ///< the last used first
  std::unordered_map<std::string_view, Entries::iterator> found_;  ///< by Entry::key
  base::CacheUse use_{0, kMaxBytes, 0, 0};
};

}  // namespace framewire::codec::cuda
