// Failed connections of a listener, told at a bounded rate.
#pragma once

#include <base/clock.hpp>
#include <cstdint>
#include <deque>
#include <framewire/status.hpp>
#include <optional>

namespace framewire::transport::session {

/// A flood of failures is told as a few of them and a number: at most kBurst at once, and then one
/// a second.
class Failures {
 public:
  static constexpr std::size_t kBurst = 8;

  /// Where memory runs out the failure is counted, and not told.
  void add(Status status, base::Clock::time_point now) noexcept;
  /// Counts a failure that is not told by itself: of a client that never sent a byte.
  void count() noexcept { ++untold_; }
  /// The oldest failure that is to be told; its message says how many were not since the last.
  [[nodiscard]] std::optional<Status> take();
  [[nodiscard]] bool empty() const noexcept { return told_.empty(); }

 private:
  std::deque<Status> told_;
  std::uint64_t untold_ = 0;
  double allowance_ = kBurst;
  std::optional<base::Clock::time_point> last_;
};

}  // namespace framewire::transport::session
