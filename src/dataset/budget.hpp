// What shards in work may hold, over all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace framewire::dataset {

/// Counts what waits for its place in an output: results that are done before those in front of
/// them. Who lists inputs waits here; who makes results never does, so that those in front come.
/// Any number of threads.
class ResultBudget {
 public:
  /// @param bytes  before list() waits
  /// @param stop   as RunOptions::stop; may be null
  ResultBudget(std::uint64_t bytes, const std::atomic<bool>* stop)
      : max_bytes_(bytes), stop_(stop) {}

  void add(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
  }
  void release(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    changed_.notify_all();
  }
  /// A picture was given up without a result, which only a batch does that ends.
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }
  /// Wakes wait(), for a condition of its caller's.
  void notify() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  /// Waits until there is room for more, and `ready` holds. @return false where the batch ends
  template <typename Ready>
  bool wait(Ready ready) {
    constexpr auto kLookAtStop = std::chrono::milliseconds(50);
    std::unique_lock lock(mutex_);
    for (;;) {
      if (given_up_ || (stop_ != nullptr && *stop_)) return false;
      if (bytes_ < max_bytes_ && ready()) return true;
      changed_.wait_for(lock, kLookAtStop);
    }
  }

 private:
  const std::uint64_t max_bytes_;
  const std::atomic<bool>* const stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t bytes_ = 0;
  bool given_up_ = false;
};

}  // namespace framewire::dataset
