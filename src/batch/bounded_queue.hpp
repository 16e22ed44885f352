// A queue of fixed capacity between one producer and several workers.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace framewire::batch {

/// First in, first out; push() blocks while full, pop_some() while empty. Any number of threads.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// @return false, dropping the item, once the queue is closed
  bool push(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    filled_.notify_one();
    return true;
  }

  /// Waits for one item, and takes what else is there, leaving others their share.
  /// @param most  1 or more
  /// @return nothing once the queue is closed and drained
  std::vector<T> pop_some(std::size_t most) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    filled_.wait(lock, [this] { return closed_ || !items_.empty(); });
    --waiting_;
    std::vector<T> some;
    const std::size_t share = (items_.size() + waiting_) / (waiting_ + 1);
    for (std::size_t i = 0; i < std::min(most, share); ++i) {
      some.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    room_.notify_one();
    return some;
  }

  /// No more items; what is queued is still handed out.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_all();
  }

  /// No more items, and those still queued are dropped.
  void abandon() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    items_.clear();
    wake_all();
  }

 private:
  void wake_all() {
    room_.notify_all();
    filled_.notify_all();
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;
  std::size_t waiting_ = 0;  ///< threads in pop_some()
  bool closed_ = false;
};

}  // namespace framewire::batch
