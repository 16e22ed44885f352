// How many requests an engine or a splitter holds, and who waits for room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace framewire::engine {

/// Counts requests from their admission to their answer. Thread-safe.
class Admission {
 public:
  /// @param capacity   requests at once; at least 1
  /// @param max_bytes  that they hold together; a single one may hold more
  explicit Admission(std::size_t capacity, std::uint64_t max_bytes = UINT64_MAX)
      : capacity_(capacity), max_bytes_(max_bytes) {}

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_; }

  /// Admits `count` requests, at most capacity(); waits until there is room for all.
  /// @param bytes  that they hold
  void enter(std::size_t count, std::uint64_t bytes = 0);
  /// Admits as many of `count` as there is room for, and does not wait.
  /// @param on_room  where not all were admitted: called once there is room again, on the thread
  ///                 that answers; may be empty
  /// @return how many were admitted
  [[nodiscard]] std::size_t try_enter(std::size_t count, std::function<void()> on_room);
  /// Adds bytes that admitted requests have come to hold. Never waits.
  void grow(std::uint64_t bytes);
  /// Lets `count` answered requests go. @param bytes  that they held
  void leave(std::size_t count, std::uint64_t bytes = 0) noexcept;
  /// Waits until no request is unanswered.
  void drain();

 private:
  const std::size_t capacity_;
  const std::uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable idle_;
  std::atomic<std::size_t> unanswered_{0};  ///< written with the lock, read without
  std::uint64_t bytes_ = 0;
  std::vector<std::function<void()>> on_room_;
};

}  // namespace framewire::engine
