// Headers of output streams: images of a batch that differ in nothing but their pixels share one.
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
  /// `head`, then DQT to SOS. Valid until trim().
  [[nodiscard]] std::span<const std::uint8_t> get(std::span<const std::uint8_t> head,
                                                  const plan::EncodePlan& encode);
  /// Between batches: forgets everything if there is too much of it.
  void trim();
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::string key_;
  std::unordered_map<std::string, std::vector<std::uint8_t>> headers_;
  std::size_t bytes_ = 0;
};

}  // namespace framewire::codec::cuda
