// Which way of copying into shared memory is the faster one, found out while it is used.
#pragma once

#include <array>
#include <cstdint>

namespace framewire::transport::shared {

/// Two cores that share a cache pass lines on fastest where they lie; between cores that do not,
/// each line that the other has touched costs a trip to it, and stores past the caches are up to
/// six times as fast (measured on an EPYC under KVM, whose virtual cores are moved about). Which it
/// is cannot be asked, and changes: so both ways are timed, the better one is kept, and the other
/// is tried again, less and less often.
class WayOfCopying {
 public:
  /// Whether what comes next goes past the caches.
  [[nodiscard]] bool past_caches() const noexcept { return trying_ ? !best_ : best_; }
  /// What a part took on average, of some that went that way.
  void took(double us_of_a_part) noexcept {
    auto& cost = cost_[past_caches() ? 1 : 0];
    cost = cost == 0 ? us_of_a_part : cost + (us_of_a_part - cost) / 4;
    // Who reads what was stored past the caches has farther to go: it must be well worth it.
    const bool before = best_;
    if (cost_[1] != 0) best_ = cost_[1] * 1.25 < cost_[0];
    if (trying_) {
      interval_ = best_ == before ? (interval_ < kMaxInterval ? interval_ * 2 : kMaxInterval)
                                  : kMinInterval;
    }
    trying_ = ++times_ % interval_ == 0;
  }

 private:
  static constexpr std::uint32_t kMinInterval = 4;
  static constexpr std::uint32_t kMaxInterval = 512;
  std::array<double, 2> cost_{};
  bool best_ = false;
  bool trying_ = false;
  std::uint32_t times_ = 0;
  std::uint32_t interval_ = kMinInterval;
};

}  // namespace framewire::transport::shared
