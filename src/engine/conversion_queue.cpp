#include <algorithm>
#include <engine/conversion_queue.hpp>
#include <utility>

namespace framewire::engine {

void ConversionQueue::push(WorkPtr work) noexcept {
  const std::lock_guard lock(mutex_);
  // Under the lock, as in WorkQueue: a cancellation is seen here or found here.
  watch_.expect(work->deadline);
  if (work->stop.stop_requested()) watch_.look_now();
  const std::uint64_t client = work->client;
  items_.push_back(client, base::Clock::now(), std::move(work));
  changed_.notify_one();
}

bool ConversionQueue::is_under_way(const Work& work) const noexcept {
  return std::ranges::find(under_way_, work.request.conversion.get(), &UnderWay::conversion) !=
         under_way_.end();
}

WorkPtr ConversionQueue::take_first_idle() noexcept {
  const auto now = base::Clock::now();
  WorkPtr found;
  WorkList passed;  // the last one first
  while (found == nullptr && !items_.empty()) {
    const FairList::Next next = items_.next(now);
    if (is_under_way(items_.front(next))) {
      passed.push_front(items_.lift(next));
    } else {
      times_.serve(next.account, now);
      found = items_.pop(next);
    }
  }
  while (!passed.empty()) items_.put_down(passed.pop_front());
  return found;
}

WorkPtr ConversionQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (WorkPtr work = take_first_idle()) {
      const auto now = base::Clock::now();
      under_way_.push_back({work->request.conversion.get(), times_.begin(work->client, now), now});
      return work;
    }
    if (closed_ && items_.empty()) return nullptr;
    changed_.wait(lock);
  }
}

WorkList ConversionQueue::complete(const color::ProfileConversion* done) noexcept {
  const std::lock_guard lock(mutex_);
  const auto ended = std::ranges::find(under_way_, done, &UnderWay::conversion);
  times_.end(ended->account, ended->begun, base::Clock::now());
  under_way_.erase(ended);
  WorkList ready;
  items_.remove_if(
      [&](const Work& work) {
        const auto& conversion = work.request.conversion;
        return conversion.get() == done && conversion->ready(work.side);
      },
      ready);
  changed_.notify_all();
  return ready;
}

QueueWatch::TimePoint ConversionQueue::remove_over(WorkList& over) noexcept {
  auto earliest = QueueWatch::TimePoint::max();
  const auto now = base::Clock::now();
  const std::lock_guard lock(mutex_);
  items_.remove_if(
      [&](const Work& work) {
        const bool is_late = is_over(work, now);
        if (!is_late) earliest = std::min(earliest, work.deadline);
        return is_late;
      },
      over);
  return earliest;
}

void ConversionQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace framewire::engine
