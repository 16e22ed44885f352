#include <algorithm>
#include <base/moment.hpp>
#include <framewire/completion_queue.hpp>
#include <utility>

namespace framewire {

std::vector<Completion> CompletionQueue::take(std::size_t max, std::chrono::microseconds wait) {
  std::vector<Completion> taken;
  if (max == 0) return taken;
  std::unique_lock lock(mutex_);
  // Waiting for no time at all is a system call, and may give the core away.
  if (items_.empty() && wait.count() > 0) {
    filled_.wait_until(lock, base::moment_after(wait), [&] { return !items_.empty(); });
  }
  taken.reserve(std::min(max, items_.size()));
  while (taken.size() < taken.capacity() && taken.size() < max && !items_.empty()) {
    taken.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  // Wakes another waiting thread: the next put() wakes nobody for the answers that are left.
  if (!items_.empty()) filled_.notify_one();
  return taken;
}

std::size_t CompletionQueue::size() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

void CompletionQueue::put(std::list<Completion>&& completions) noexcept {
  if (completions.empty()) return;
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    ready = items_.empty();
    items_.splice(items_.end(), completions);
  }
  if (!ready) return;
  // Without the lock: a thread that is woken under it goes back to sleep for it at once.
  filled_.notify_one();
  if (!on_ready_) return;
  try {
    on_ready_();
  } catch (...) {
    // What a caller's function throws is dropped: the answers are in the queue.
  }
}

}  // namespace framewire
