// For how long a server has shown no sign of life, and how long one is waited for.
#pragma once

#include <algorithm>
#include <base/clock.hpp>
#include <chrono>

namespace framewire::client {

/// After so long without a sign of life, while requests are under way, a server counts as gone.
inline constexpr std::chrono::milliseconds kServerPatience{30'000};
/// After so many times as long without an answer it counts as gone whatever signs it shows.
inline constexpr int kPatiencesForAnswer = 20;
/// How often a client that waits looks for one.
inline constexpr std::chrono::milliseconds kLookInterval{1'000};

/// Adds up the time between looks. Time in which the client itself stood still (SIGSTOP, a machine
/// that sleeps) says nothing about the server: one look adds two intervals at most.
class Silence {
 public:
  using Clock = base::Clock;

  /// The server has moved.
  void end(Clock::time_point now = Clock::now()) noexcept {
    last_look_ = now;
    time_ = {};
  }
  /// Another look, and no sign of life. @return the time without one
  std::chrono::milliseconds look(Clock::time_point now = Clock::now()) noexcept {
    const Clock::duration passed = now - last_look_;
    time_ += std::min<Clock::duration>(passed, 2 * kLookInterval);
    last_look_ = now;
    return std::chrono::duration_cast<std::chrono::milliseconds>(time_);
  }

 private:
  Clock::time_point last_look_ = Clock::now();
  Clock::duration time_{};
};

/// Divides the time to connect again into tries. Who listens and never greets may not be who will
/// be there next, so that the first try is short: enough for the round trips of a handshake over a
/// satellite. A try that has run out of time is followed by a longer one, for links over which a
/// handshake takes longer.
class ConnectTries {
 public:
  using Clock = base::Clock;

  explicit ConnectTries(Clock::time_point deadline) noexcept : deadline_(deadline) {}

  /// Begins a try. @return its end: all that is left where a longer try would not fit behind it
  [[nodiscard]] Clock::time_point next(Clock::time_point now = Clock::now()) noexcept {
    if (now >= end_) time_ *= 2;
    end_ = deadline_ - now < 3 * time_ ? deadline_ : now + time_;
    return end_;
  }
  [[nodiscard]] bool are_over(Clock::time_point now = Clock::now()) const noexcept {
    return now >= deadline_;
  }

 private:
  const Clock::time_point deadline_;
  Clock::duration time_ = std::chrono::seconds(4);
  Clock::time_point end_ = Clock::time_point::max();  ///< of the last try
};

}  // namespace framewire::client
