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
/// For one try to connect again: who listens and never greets may not be who will be there next.
/// Enough for the round trips of a handshake over a satellite.
inline constexpr std::chrono::milliseconds kConnectTry{4'000};
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

}  // namespace framewire::client
