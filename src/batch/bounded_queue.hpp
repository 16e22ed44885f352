// A queue of fixed capacity between one producer and several workers.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace framewire::batch {

/// First in, first out; push() blocks while full, pop_some() while empty. Any number of threads.
///
/// Items are handed out in groups, and somebody is woken for a whole group: that costs more than
/// many an item. Where items come slowly, groups are what has come within kPatience.
template <typename T>
class BoundedQueue {
 public:
  /// @param group  items that are handed out together, at most; 1 or more
  BoundedQueue(std::size_t capacity, std::size_t group) : capacity_(capacity), group_(group) {}

  /// @return false, dropping the item, once the queue is closed
  bool push(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    // The first, so that somebody begins to wait for the others; then whole groups.
    if (items_.size() == 1 || items_.size() % group_ == 0) filled_.notify_one();
    return true;
  }

  /// @return nothing once the queue is closed and drained
  std::vector<T> pop_some() {
    std::unique_lock lock(mutex_);
    do {
      filled_.wait(lock, [this] { return closed_ || !items_.empty(); });
      filled_.wait_for(lock, kPatience, [this] { return closed_ || items_.size() >= group_; });
    } while (!closed_ && items_.empty());
    return take();
  }

  /// Does not wait. @return nothing if there is no whole group, or at the end what is left
  std::vector<T> pop_group() {
    const std::lock_guard lock(mutex_);
    if (!closed_ && items_.size() < group_) return {};
    return take();
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
  std::vector<T> take() {
    std::vector<T> some;
    const std::size_t count = std::min(group_, items_.size());
    some.reserve(count);
    for (; some.size() < count; items_.pop_front()) some.push_back(std::move(items_.front()));
    if (!items_.empty()) filled_.notify_one();
    room_.notify_one();
    return some;
  }

  void wake_all() {
    room_.notify_all();
    filled_.notify_all();
  }

  static constexpr std::chrono::milliseconds kPatience{10};
  const std::size_t capacity_;
  const std::size_t group_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace framewire::batch
