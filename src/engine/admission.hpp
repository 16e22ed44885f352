// How many requests an engine or a splitter holds, and who waits for room.
#pragma once

#include <atomic>
#include <base/epochs.hpp>
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
  using Epoch = base::Epochs::Epoch;
  struct Admitted {
    std::size_t count = 0;
    Epoch epoch = 0;
  };

  /// @param capacity   requests at once; at least 1
  /// @param max_bytes  that they hold together; a single one may hold more
  explicit Admission(std::size_t capacity, std::uint64_t max_bytes = UINT64_MAX)
      : capacity_(capacity), max_bytes_(max_bytes) {}

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_; }

  /// Admits `count` requests, at most capacity(); waits until there is room for all.
  /// @param bytes  that they hold
  Epoch enter(std::size_t count, std::uint64_t bytes = 0);
  /// Admits `count` requests, beyond capacity() too, and does not wait.
  Epoch enter_at_once(std::size_t count);
  /// Admits as many of `count` as there is room for, and does not wait.
  /// @param on_room  where not all were admitted: called once there is room again, on the thread
  ///                 that answers; may be empty
  [[nodiscard]] Admitted try_enter(std::size_t count, std::function<void()> on_room);
  /// Adds bytes that admitted requests have come to hold. Never waits.
  void grow(std::uint64_t bytes);
  /// Lets `count` answered requests go.
  /// @param bytes  that they held
  /// @param epoch  in which all of them entered; always 0 where nobody calls drain()
  void leave(std::size_t count, std::uint64_t bytes = 0, Epoch epoch = 0) noexcept;
  /// Waits until the requests that have entered before have left.
  void drain();
  /// Waits until no request is unanswered and no `on_room` is being called, so that nothing more
  /// enters unless somebody else hands it in.
  void wait_until_idle();

 private:
  [[nodiscard]] std::size_t room() const noexcept;
  Epoch add(std::size_t count) noexcept;

  const std::size_t capacity_;
  const std::uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable left_;            ///< all requests of an epoch, or all calls of `on_room`
  std::atomic<std::size_t> unanswered_{0};  ///< written with the lock, read without
  base::Epochs epochs_;                     ///< of the unanswered
  std::size_t telling_ = 0;                 ///< threads that call `on_room` functions
  std::uint64_t bytes_ = 0;
  std::vector<std::function<void()>> on_room_;
};

}  // namespace framewire::engine
