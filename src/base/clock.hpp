// Monotonic time and deadlines.
#pragma once

#include <time.h>
#include <chrono>
#include <cstdint>

namespace framewire::base {

using Clock = std::chrono::steady_clock;

/// Clock::now() as of the kernel's last tick, up to 4 ms ago, for a fraction of the price.
[[nodiscard]] inline Clock::time_point coarse_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                           std::chrono::nanoseconds(now.tv_nsec));
}

/// Microseconds from `start` to now.
[[nodiscard]] inline double elapsed_us(Clock::time_point start) noexcept {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A moment after which work is refused; never passes when made from 0.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(std::uint32_t after_ms) : Deadline(Clock::now(), after_ms) {}
  Deadline(Clock::time_point start, std::uint32_t after_ms) {
    if (after_ms != 0) end_ = start + std::chrono::milliseconds(after_ms);
  }
  [[nodiscard]] bool passed() const noexcept {
    return end_ != Clock::time_point::max() && Clock::now() >= end_;
  }

 private:
  Clock::time_point end_ = Clock::time_point::max();
};

}  // namespace framewire::base
