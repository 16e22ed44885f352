#include <algorithm>
#include <base/start_thread.hpp>
#include <engine/queue_watch.hpp>
#include <utility>

namespace framewire::engine {

Result<void> QueueWatch::start(Sweep sweep) {
  sweep_ = std::move(sweep);
  auto started = base::start_thread("fw-watch", [this] { run(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

void QueueWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void QueueWatch::look_by(TimePoint time) {
  const std::lock_guard lock(mutex_);
  if (time >= next_.load()) return;
  next_ = time;
  changed_.notify_one();
}

void QueueWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const TimePoint next = next_;
    if (next == TimePoint::max()) {
      changed_.wait(lock);
      continue;
    }
    if (next > base::Clock::now()) {
      changed_.wait_until(lock, next);
      continue;
    }
    // Requests that are queued from now on call expect() again, also if the sweep finds them.
    next_ = TimePoint::max();
    lock.unlock();
    const TimePoint earliest = sweep_();
    lock.lock();
    next_ = std::min(next_.load(), earliest);
  }
}

}  // namespace framewire::engine
