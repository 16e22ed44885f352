#include <algorithm>
#include <framewire/completion_queue.hpp>
#include <utility>

namespace framewire {

std::vector<Completion> CompletionQueue::take(std::size_t max, std::chrono::microseconds wait) {
  std::vector<Completion> taken;
  if (max == 0) return taken;
  std::unique_lock lock(mutex_);
  if (items_.empty()) filled_.wait_for(lock, wait, [&] { return !items_.empty(); });
  taken.reserve(std::min(max, items_.size()));
  while (taken.size() < taken.capacity() && taken.size() < max && !items_.empty()) {
    taken.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  // Others may wait, too, and the next put() wakes nobody for these.
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
    if (ready) filled_.notify_one();
  }
  if (!ready || !on_ready_) return;
  try {
    on_ready_();
  } catch (...) {
    // The caller's own affair; the answers are there.
  }
}

}  // namespace framewire
