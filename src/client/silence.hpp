// For how long a server has shown no sign of life, and how long one is waited for.
#pragma once

#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <utility>

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

/// For how long a server has answered nothing, less the time in which requests were on their way to
/// it. That time is no more than their bytes take over the slowest connection that is waited for:
/// who takes them by drops does not extend it without end.
class WithoutAnswer {
 public:
  using Clock = base::Clock;

  /// The server has answered, or nothing is asked of it.
  void end(Clock::time_point now = Clock::now()) noexcept {
    silence_.end(now);
    waited_ = on_their_way_ = {};
    was_moving_ = false;
  }
  /// Another look, and no answer. @return the time without one
  /// @param is_moving  whether bytes of requests are on their way now
  /// @param slow_time  of those, and of all that arrived since the last answer
  std::chrono::milliseconds look(bool is_moving, std::chrono::milliseconds slow_time,
                                 Clock::time_point now = Clock::now()) noexcept {
    const auto before = std::exchange(waited_, silence_.look(now));
    if (was_moving_) on_their_way_ += waited_ - before;
    on_their_way_ = std::min(on_their_way_, slow_time);
    was_moving_ = is_moving;
    return waited_ - on_their_way_;
  }

 private:
  Silence silence_;
  std::chrono::milliseconds waited_{};
  std::chrono::milliseconds on_their_way_{};
  bool was_moving_ = false;  ///< at the last look
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
