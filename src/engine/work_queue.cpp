#include <algorithm>
#include <engine/work_queue.hpp>
#include <thread>
#include <utility>

namespace framewire::engine {
namespace {

constexpr std::chrono::microseconds kSpin{100};

}  // namespace

/// Wakes nobody in vain: being woken costs some 50 µs, and waking the caller some microseconds. Who
/// is looking needs no waking, and one who was woken, or gathers, comes for a whole share.
void WorkQueue::append(WorkPtr work) noexcept {
  tell_watch(*work);
  bytes_ += work->bytes.size();
  for_device_ += work->device_could_decode ? 1 : 0;
  items_.push_back(std::move(work));
  count_ = items_.size();
  const std::size_t min_share = bounds_.min_share;
  if (gathering_ > 0 && (items_.size() >= share() || bytes_ >= bounds_.max_bytes)) {
    enough_.notify_one();
  }
  const bool share_begins = (items_.size() - 1) % min_share == 0;
  if (share_begins && waiting_ > gathering_ && items_.size() > looking_ + gathering_ * min_share) {
    filled_.notify_one();
  }
}

void WorkQueue::count_out(const Work& work) noexcept {
  bytes_ -= work.bytes.size();
  for_device_ -= work.device_could_decode ? 1 : 0;
}

/// Under the lock: a request that is cancelled before it is here is seen here, one that is
/// cancelled later is found here.
void WorkQueue::tell_watch(const Work& work) noexcept {
  watch_.expect(work.deadline);
  if (work.stop.stop_requested()) watch_.look_now();
}

void WorkQueue::push(WorkPtr work) noexcept {
  const std::lock_guard lock(mutex_);
  append(std::move(work));
}

void WorkQueue::push(WorkList works) noexcept {
  const std::lock_guard lock(mutex_);
  while (!works.empty()) append(works.pop_front());
}

void WorkQueue::put_back(WorkList works) noexcept {
  const std::lock_guard lock(mutex_);
  WorkList front;
  while (!works.empty()) {
    tell_watch(works.front());
    bytes_ += works.front().bytes.size();
    for_device_ += works.front().device_could_decode ? 1 : 0;
    front.push_back(works.pop_front());
  }
  items_.prepend(std::move(front));
  count_ = items_.size();
  wake_all();
}

void WorkQueue::take_for_device(std::size_t min_requests, std::size_t max_requests,
                                std::uint64_t max_bytes, WorkList& out) noexcept {
  const std::lock_guard lock(mutex_);
  if (for_device_ < min_requests) return;
  WorkList kept;
  std::uint64_t bytes = 0;
  bool full = false;
  while (!items_.empty()) {
    WorkPtr work = items_.pop_front();
    full = full || out.size() >= max_requests || bytes + work->bytes.size() > max_bytes;
    if (full || !work->device_could_decode) {
      kept.push_back(std::move(work));
      continue;
    }
    bytes += work->bytes.size();
    count_out(*work);
    out.push_back(std::move(work));
  }
  items_ = std::move(kept);
  count_ = items_.size();
}

QueueWatch::TimePoint WorkQueue::remove_over(WorkList& over) noexcept {
  auto earliest = QueueWatch::TimePoint::max();
  const auto now = base::Clock::now();
  const std::lock_guard lock(mutex_);
  WorkList kept;
  while (!items_.empty()) {
    WorkPtr work = items_.pop_front();
    if (is_over(*work, now)) {
      count_out(*work);
      over.push_back(std::move(work));
    } else {
      earliest = std::min(earliest, work->deadline);
      kept.push_back(std::move(work));
    }
  }
  items_ = std::move(kept);
  count_ = items_.size();
  return earliest;
}

/// Measured (H200, one thread that keeps 256 requests of 1920×1080 → 480×270 under way, images/s):
/// 56,300 where lanes waited for full batches and took 16 at least, 77,000 with shares of 8 at
/// least; of 64 requests 32,000 and 42,900; of 1,024 80,000 and 95,000.
std::size_t WorkQueue::share() const {
  const std::size_t part = (items_.size() + at_work_) / bounds_.callers;
  return std::min(bounds_.max_requests, std::max(bounds_.min_share, part));
}

void WorkQueue::wake_all() {
  filled_.notify_all();
  enough_.notify_all();
}

void WorkQueue::wait_for_more(std::unique_lock<std::mutex>& lock, const Bounds& bounds) {
  const auto until = items_.front().arrived + std::chrono::microseconds(bounds.wait_us);
  const auto enough = [&] {
    return closed_ || items_.empty() || busy_ == 0 || items_.size() >= share() ||
           bytes_ >= bounds.max_bytes;
  };
  ++waiting_;
  ++gathering_;
  enough_.wait_until(lock, until, enough);
  --gathering_;
  --waiting_;
}

/// Requests that follow one another closely find their lane awake: waking it costs some 50 µs.
void WorkQueue::look(std::unique_lock<std::mutex>& lock) {
  ++looking_;
  lock.unlock();
  const auto until = std::chrono::steady_clock::now() + kSpin;
  while (count_.load(std::memory_order_relaxed) == 0 &&
         places_.load(std::memory_order_relaxed) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  lock.lock();
  --looking_;
}

bool WorkQueue::take(const Bounds& bounds, std::size_t done, WorkList& out) {
  std::unique_lock lock(mutex_);
  bounds_ = bounds;
  bounds_.min_share = std::min(bounds.min_share, bounds.max_requests);
  if (done != 0) {
    at_work_ -= done;
    if (--busy_ == 0 && gathering_ > 0) enough_.notify_all();
    if (items_.empty() && !closed_) look(lock);
  }
  for (;;) {
    ++waiting_;
    filled_.wait(lock, [&] { return closed_ || !items_.empty() || find_invitation() != nullptr; });
    --waiting_;
    if (Invitation* found = items_.empty() ? find_invitation() : nullptr) {
      help(lock, *found);
      continue;
    }
    if (!items_.empty() && bounds.wait_us > 0) wait_for_more(lock, bounds);
    if (!items_.empty()) break;
    if (closed_) return false;
  }
  // Others that wait take their share: a lane prepares its batch on one thread.
  const std::size_t part = std::max(bounds.min_share, items_.size() / (waiting_ + 1) + 1);
  const std::size_t count = std::min(bounds.max_requests, part);
  std::uint64_t bytes = 0;
  while (!items_.empty() && out.size() < count) {
    bytes += items_.front().bytes.size();
    if (!out.empty() && bytes > bounds.max_bytes) break;
    count_out(items_.front());
    out.push_back(items_.pop_front());
  }
  count_ = items_.size();
  ++busy_;
  at_work_ += out.size();
  if (!items_.empty() && waiting_ > gathering_) filled_.notify_one();
  return true;
}

std::size_t WorkQueue::idle() noexcept {
  const std::lock_guard lock(mutex_);
  return waiting_ - gathering_ + looking_;
}

WorkQueue::Invitation* WorkQueue::find_invitation() noexcept {
  const auto found =
      std::ranges::find_if(invitations_, [](const Invitation& i) { return i.places > 0; });
  return found == invitations_.end() ? nullptr : &*found;
}

void WorkQueue::invite(codec::SharedWork& work, std::size_t most) noexcept {
  const std::lock_guard lock(mutex_);
  const auto free =
      std::ranges::find_if(invitations_, [](const Invitation& i) { return i.work == nullptr; });
  if (free == invitations_.end()) return;
  *free = {&work, most, 0};
  places_ += most;
  for (std::size_t i = 0; i < most; ++i) filled_.notify_one();
}

void WorkQueue::help(std::unique_lock<std::mutex>& lock, Invitation& invitation) noexcept {
  --invitation.places;
  --places_;
  ++invitation.inside;
  lock.unlock();
  invitation.work->help();
  lock.lock();
  if (--invitation.inside == 0) helped_.notify_all();
}

void WorkQueue::dismiss(codec::SharedWork& work) noexcept {
  std::unique_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(invitations_, [&](const Invitation& i) { return i.work == &work; });
  if (found == invitations_.end()) return;
  places_ -= std::exchange(found->places, 0);
  helped_.wait(lock, [&] { return found->inside == 0; });
  *found = {};
}

void WorkQueue::leave(std::size_t done) {
  const std::lock_guard lock(mutex_);
  --busy_;
  at_work_ -= done;
  wake_all();
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_all();
}

}  // namespace framewire::engine
