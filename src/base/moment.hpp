// Moments that lie a caller's wait ahead.
#pragma once

#include <base/clock.hpp>
#include <chrono>

namespace framewire::base {

/// The moment that lies `wait` ahead of now: now for less than nothing, and the clock's last moment
/// for more than it can count, such as microseconds::max().
template <typename Rep, typename Period>
[[nodiscard]] Clock::time_point moment_after(std::chrono::duration<Rep, Period> wait) {
  using Wait = std::chrono::duration<Rep, Period>;
  const Clock::time_point now = Clock::now();
  if (wait <= Wait::zero()) return now;
  const auto longest = std::chrono::floor<Wait>(Clock::time_point::max() - now);
  return wait < longest ? now + wait : Clock::time_point::max();
}

}  // namespace framewire::base
