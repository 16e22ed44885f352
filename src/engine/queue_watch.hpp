// Finds requests that are cancelled, or whose time is over, while they are queued.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <condition_variable>
#include <framewire/status.hpp>
#include <functional>
#include <mutex>
#include <thread>

namespace framewire::engine {

/// A thread that sleeps until the earliest deadline of what is queued, or until somebody cancels.
/// Members are thread-safe, save start() and stop().
class QueueWatch {
 public:
  using TimePoint = base::Clock::time_point;
  /// Answers all queued requests that are cancelled or late by now, on the watching thread.
  /// @return the earliest deadline of those that stay; TimePoint::max() for none
  using Sweep = std::function<TimePoint()>;

  QueueWatch() = default;
  ~QueueWatch() { stop(); }
  QueueWatch(const QueueWatch&) = delete;
  QueueWatch& operator=(const QueueWatch&) = delete;

  /// @return busy where no thread can be started
  [[nodiscard]] Result<void> start(Sweep sweep);
  void stop();

  /// A request with this deadline is queued now. Nearly always one comparison.
  void expect(TimePoint deadline) {
    if (deadline < next_.load(std::memory_order_relaxed)) look_by(deadline);
  }
  /// A request has been cancelled.
  void look_now() { look_by(TimePoint::min()); }

 private:
  void look_by(TimePoint time);
  void run();

  Sweep sweep_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<TimePoint> next_{TimePoint::max()};  ///< when to sweep; written with the lock
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace framewire::engine
