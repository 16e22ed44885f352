// Headers of output streams, made once for all images of a batch that differ in nothing but their
// pixels.
#pragma once

#include <cstdint>
#include <plan/plan.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace framewire::codec::cuda {

/// Not thread-safe.
class HeaderCache {
 public:
  /// `head`, then the segments from DQT to SOS. Valid until trim().
  [[nodiscard]] std::span<const std::uint8_t> get(std::span<const std::uint8_t> head,
                                                  const plan::EncodePlan& encode);
  /// Call it between batches: forgets all headers if they have become too many.
  void trim();
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::string key_;
  std::unordered_map<std::string, std::vector<std::uint8_t>> headers_;
  std::size_t bytes_ = 0;
};

}  // namespace framewire::codec::cuda
