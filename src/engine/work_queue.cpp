#include <algorithm>
#include <engine/work_queue.hpp>
#include <thread>

namespace framewire::engine {
namespace {

constexpr std::chrono::microseconds kSpin{100};

}  // namespace

void WorkQueue::append(WorkPtr work) {
  bytes_ += work->bytes.size();
  items_.push_back(std::move(work));
  count_ = items_.size();
  // One that is looking needs no waking, which costs the caller some microseconds.
  if (waiting_ > 0 && items_.size() > looking_) filled_.notify_one();
}

void WorkQueue::push(WorkPtr work) {
  const std::lock_guard lock(mutex_);
  append(std::move(work));
}

void WorkQueue::push(std::vector<WorkPtr> works) {
  const std::lock_guard lock(mutex_);
  for (WorkPtr& work : works) append(std::move(work));
}

void WorkQueue::put_back(std::vector<WorkPtr> works) {
  const std::lock_guard lock(mutex_);
  for (auto work = works.rbegin(); work != works.rend(); ++work) {
    bytes_ += (*work)->bytes.size();
    items_.push_front(std::move(*work));
  }
  count_ = items_.size();
  filled_.notify_all();
}

void WorkQueue::wait_for_more(std::unique_lock<std::mutex>& lock, const Bounds& bounds) {
  const auto until = items_.front()->arrived + std::chrono::microseconds(bounds.wait_us);
  const auto enough = [&] {
    return closed_ || items_.empty() || busy_ == 0 || items_.size() >= bounds.most ||
           bytes_ >= bounds.most_bytes;
  };
  ++waiting_;
  ++gathering_;
  filled_.wait_until(lock, until, enough);
  --gathering_;
  --waiting_;
}

/// Requests that follow one another closely find their lane awake: waking it costs some 50 µs.
void WorkQueue::look(std::unique_lock<std::mutex>& lock) {
  ++looking_;
  lock.unlock();
  const auto until = std::chrono::steady_clock::now() + kSpin;
  while (count_.load(std::memory_order_relaxed) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  lock.lock();
  --looking_;
}

bool WorkQueue::take(const Bounds& bounds, bool again, std::vector<WorkPtr>& out) {
  std::unique_lock lock(mutex_);
  if (again) {
    if (--busy_ == 0 && gathering_ > 0) filled_.notify_all();
    if (items_.empty() && !closed_) look(lock);
  }
  for (;;) {
    ++waiting_;
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    --waiting_;
    if (!items_.empty() && bounds.wait_us > 0) wait_for_more(lock, bounds);
    if (!items_.empty()) break;
    if (closed_) return false;
  }
  // Others that wait take their share: a lane prepares its batch on one thread.
  const std::size_t share = std::max(bounds.least_share, items_.size() / (waiting_ + 1) + 1);
  const std::size_t most = std::min(bounds.most, share);
  std::uint64_t bytes = 0;
  while (!items_.empty() && out.size() < most) {
    bytes += items_.front()->bytes.size();
    if (!out.empty() && bytes > bounds.most_bytes) break;
    bytes_ -= items_.front()->bytes.size();
    out.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  count_ = items_.size();
  ++busy_;
  if (!items_.empty() && waiting_ > 0) filled_.notify_one();
  return true;
}

void WorkQueue::leave() {
  const std::lock_guard lock(mutex_);
  --busy_;
  filled_.notify_all();
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_all();
}

}  // namespace framewire::engine
