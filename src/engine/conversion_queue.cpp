#include <algorithm>
#include <engine/conversion_queue.hpp>
#include <utility>

namespace framewire::engine {

void ConversionQueue::push(WorkPtr work) noexcept {
  const std::lock_guard lock(mutex_);
  // Under the lock, as in WorkQueue: a cancellation is seen here or found here.
  watch_.expect(work->deadline);
  if (work->stop.stop_requested()) watch_.look_now();
  items_.push_back(std::move(work));
  changed_.notify_one();
}

bool ConversionQueue::is_under_way(const Work& work) const noexcept {
  return std::ranges::find(under_way_, work.request.conversion.get()) != under_way_.end();
}

WorkPtr ConversionQueue::take_first_idle() noexcept {
  WorkPtr found;
  WorkList kept;
  while (!items_.empty()) {
    WorkPtr work = items_.pop_front();
    if (found == nullptr && !is_under_way(*work)) {
      found = std::move(work);
    } else {
      kept.push_back(std::move(work));
    }
  }
  items_ = std::move(kept);
  return found;
}

WorkPtr ConversionQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (WorkPtr work = take_first_idle()) {
      under_way_.push_back(work->request.conversion.get());
      return work;
    }
    if (closed_ && items_.empty()) return nullptr;
    changed_.wait(lock);
  }
}

WorkList ConversionQueue::complete(const color::ProfileConversion* done) noexcept {
  const std::lock_guard lock(mutex_);
  under_way_.erase(std::ranges::find(under_way_, done));
  WorkList ready, kept;
  while (!items_.empty()) {
    WorkPtr work = items_.pop_front();
    const auto& conversion = work->request.conversion;
    const bool same = conversion.get() == done && conversion->ready(work->side);
    (same ? ready : kept).push_back(std::move(work));
  }
  items_ = std::move(kept);
  changed_.notify_all();
  return ready;
}

QueueWatch::TimePoint ConversionQueue::remove_over(WorkList& over) noexcept {
  auto earliest = QueueWatch::TimePoint::max();
  const auto now = base::Clock::now();
  const std::lock_guard lock(mutex_);
  WorkList kept;
  while (!items_.empty()) {
    WorkPtr work = items_.pop_front();
    if (!is_over(*work, now)) earliest = std::min(earliest, work->deadline);
    (is_over(*work, now) ? over : kept).push_back(std::move(work));
  }
  items_ = std::move(kept);
  return earliest;
}

void ConversionQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace framewire::engine
