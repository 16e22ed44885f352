#include <algorithm>
#include <bit>
#include <engine/work_queue.hpp>
#include <thread>
#include <utility>

namespace framewire::engine {
namespace {

constexpr std::chrono::microseconds kSpin{100};

bool is_for_device(const Work& work) noexcept {
  return work.device_could_decode && !work.has_gain_map_to_do;
}

/// Of requests in one class the largest has less than twice the bytes of the smallest.
std::size_t size_class(const Work& work) noexcept {
  return std::min<std::size_t>(std::bit_width(work.bytes.size()), 63);
}

/// About what a device takes for a file among many: a nanosecond a byte.
std::int64_t device_time_ns(const Work& work) noexcept {
  return static_cast<std::int64_t>(work.bytes.size());
}

}  // namespace

/// Wakes nobody in vain: being woken costs some 50 µs, and waking the caller some microseconds. Who
/// is looking needs no waking, and one who was woken, or gathers, comes for a whole share.
void WorkQueue::append(WorkPtr work) noexcept {
  tell_watch(*work);
  count_in(*work);
  Work& added = *work;
  list_of(added).push_back(client_of(added), now(), std::move(work));
  wake_for_device();
  const std::size_t before = count_;
  recount();
  if (count_ <= before) return;
  const std::size_t min_share = bounds_.min_share;
  if (gathering_ > 0 && (count_ >= share() || bytes_ >= bounds_.max_bytes)) {
    enough_.notify_one();
  }
  const bool share_begins = (count_ - 1) % min_share == 0;
  if (share_begins && waiting_ > gathering_ && count_ > looking_ + gathering_ * min_share) {
    filled_.notify_one();
  }
}

std::uint64_t WorkQueue::client_of(const Work& work) const noexcept {
  return order_ == QueueOrder::kArrival ? 0 : work.client;
}

base::ClientTimes::TimePoint WorkQueue::now() const noexcept {
  return order_ == QueueOrder::kArrival ? base::ClientTimes::TimePoint() : base::Clock::now();
}

FairList& WorkQueue::list_of(const Work& work) noexcept {
  return is_for_device(work) ? for_device_ : items_;
}

/// Where so many wait that devices take what they can, callers of take() leave it to them and see
/// to the rest: also to gain maps, without which some of these do not get to the devices. What a
/// host thread decodes for a device comes there as coefficients, up to 50 times the file's bytes,
/// and the lanes' buffers grow by them.
bool WorkQueue::devices_take() const noexcept {
  return !closed_ && device_takers_ > 0 && for_device_.size() + soon_for_device_ >= min_for_device_;
}

/// After each change of what is queued, or of who takes it.
void WorkQueue::recount() noexcept {
  count_ = devices_take() ? items_.size() : items_.size() + for_device_.size();
}

/// For changes by which callers of take() may get what was left to devices.
void WorkQueue::recount_and_wake() noexcept {
  const std::size_t before = count_;
  recount();
  if (count_ > before) filled_.notify_all();
}

/// Not where take() has nothing to hand out.
WorkQueue::Next WorkQueue::next(base::ClientTimes::TimePoint now) noexcept {
  if (items_.empty()) return {&for_device_, for_device_.next(now)};
  const Next one{&items_, items_.next(now)};
  if (for_device_.empty() || devices_take()) return one;
  const Next other{&for_device_, for_device_.next(now)};
  return one.place.before(other.place) ? one : other;
}

void WorkQueue::count_in(const Work& work) noexcept {
  bytes_ += work.bytes.size();
  if (is_for_device(work)) {
    ++for_device_sizes_[size_class(work)];
  } else if (work.device_could_decode) {
    ++soon_for_device_;
  }
}

void WorkQueue::count_out(const Work& work) noexcept {
  bytes_ -= work.bytes.size();
  if (is_for_device(work)) {
    --for_device_sizes_[size_class(work)];
  } else if (work.device_could_decode) {
    --soon_for_device_;
  }
}

void WorkQueue::wake_for_device() noexcept {
  if (waiting_takers_ > 0 && for_device_.size() >= min_for_device_) {
    many_for_device_.notify_one();
  }
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
  WorkList reversed;
  while (!works.empty()) reversed.push_front(works.pop_front());
  while (!reversed.empty()) {
    WorkPtr work = reversed.pop_front();
    tell_watch(*work);
    count_in(*work);
    Work& back = *work;
    list_of(back).push_front(client_of(back), now(), std::move(work));
    if (is_for_device(back)) times_.charge(back.account, -device_time_ns(back));
  }
  recount();
  wake_all();
}

/// Sizes of batches of which the oldest request is one: its own, and while those are too few,
/// smaller ones, by which the batch takes no longer, and then larger ones.
/// @return a bit a class
std::uint64_t WorkQueue::sizes_for(const Work& oldest, std::size_t good_requests) const {
  const std::size_t own = size_class(oldest);
  std::uint64_t sizes = 0;
  std::size_t count = 0;
  const auto add = [&](std::size_t size) {
    if (count != 0 && count >= good_requests) return;
    sizes |= std::uint64_t{1} << size;
    count += for_device_sizes_[size];
  };
  for (std::size_t size = own + 1; size-- > 0;) add(size);
  for (std::size_t size = own + 1; size < for_device_sizes_.size(); ++size) add(size);
  return sizes;
}

/// Takes the oldest requests of these sizes.
void WorkQueue::take_sizes(std::uint64_t sizes, const DeviceBounds& bounds,
                           WorkList& out) noexcept {
  WorkList kept;
  std::uint64_t bytes = 0;
  const auto time = now();
  while (!for_device_.empty() && out.size() < bounds.max_requests) {
    const FairList::Next next = for_device_.next(time);
    const std::uint64_t of_next = for_device_.front(next).bytes.size();
    const bool wanted = (sizes >> size_class(for_device_.front(next)) & 1) != 0;
    if (wanted && !out.empty() && bytes + of_next > bounds.max_bytes) break;
    if (!wanted) {
      kept.push_front(for_device_.lift(next));
      continue;
    }
    bytes += of_next;
    times_.serve(next.account, time);
    WorkPtr work = for_device_.pop(next);
    times_.charge(next.account, device_time_ns(*work));
    count_out(*work);
    out.push_back(std::move(work));
  }
  while (!kept.empty()) for_device_.put_down(kept.pop_front());
}

void WorkQueue::join_device_takers() noexcept {
  const std::lock_guard lock(mutex_);
  ++device_takers_;
  recount();
}

void WorkQueue::leave_device_takers() noexcept {
  const std::lock_guard lock(mutex_);
  --device_takers_;
  recount_and_wake();
}

bool WorkQueue::take_for_device(const DeviceBounds& bounds, WorkList& out) {
  std::unique_lock lock(mutex_);
  min_for_device_ = bounds.min_requests;
  recount_and_wake();
  ++waiting_takers_;
  many_for_device_.wait(lock, [&] { return closed_ || for_device_.size() >= bounds.min_requests; });
  --waiting_takers_;
  if (closed_) return false;
  const Work& oldest = for_device_.front(for_device_.next(now()));
  take_sizes(sizes_for(oldest, bounds.good_requests), bounds, out);
  wake_for_device();
  recount_and_wake();
  return true;
}

QueueWatch::TimePoint WorkQueue::remove_over(WorkList& over) noexcept {
  auto earliest = QueueWatch::TimePoint::max();
  const auto now = base::Clock::now();
  const std::lock_guard lock(mutex_);
  const auto remove = [&](const Work& work) {
    if (is_over(work, now)) {
      count_out(work);
      return true;
    }
    earliest = std::min(earliest, work.deadline);
    return false;
  };
  items_.remove_if(remove, over);
  for_device_.remove_if(remove, over);
  recount_and_wake();
  return earliest;
}

/// Measured (H200, one thread that keeps 256 requests of 1920×1080 → 480×270 under way, images/s):
/// 56,300 where lanes waited for full batches and took 16 at least, 77,000 with shares of 8 at
/// least; of 64 requests 32,000 and 42,900; of 1,024 80,000 and 95,000.
std::size_t WorkQueue::share() const {
  const std::size_t part = (count_ + at_work_) / bounds_.callers;
  return std::min(bounds_.max_requests, std::max(bounds_.min_share, part));
}

void WorkQueue::wake_all() {
  filled_.notify_all();
  enough_.notify_all();
  many_for_device_.notify_all();
}

void WorkQueue::wait_for_more(std::unique_lock<std::mutex>& lock, const Bounds& bounds) {
  const auto until = next(now()).place.arrived + std::chrono::microseconds(bounds.wait_us);
  const auto enough = [&] {
    return closed_ || count_ == 0 || busy_ == 0 || count_ >= share() || bytes_ >= bounds.max_bytes;
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
    if (count_ == 0 && !closed_) look(lock);
  }
  for (;;) {
    ++waiting_;
    filled_.wait(lock, [&] { return closed_ || count_ != 0 || find_invitation() != nullptr; });
    --waiting_;
    if (Invitation* found = count_ == 0 ? find_invitation() : nullptr) {
      help(lock, *found);
      continue;
    }
    if (count_ != 0 && bounds.wait_us > 0) wait_for_more(lock, bounds);
    if (count_ != 0) break;
    if (closed_) return false;
  }
  // Others that wait take their share: a lane prepares its batch on one thread.
  const std::size_t part = std::max(bounds.min_share, count_ / (waiting_ + 1) + 1);
  const std::size_t count = std::min(bounds.max_requests, part);
  std::uint64_t bytes = 0;
  const auto time = now();
  while (count_ != 0 && out.size() < count) {
    const Next first = next(time);
    bytes += first.work().bytes.size();
    if (!out.empty() && bytes > bounds.max_bytes) break;
    count_out(first.work());
    times_.serve(first.place.account, time);
    out.push_back(first.list->pop(first.place));
    recount();
  }
  ++busy_;
  at_work_ += out.size();
  if (count_ != 0 && waiting_ > gathering_) filled_.notify_one();
  return true;
}

WorkQueue::Turn::Turn(WorkQueue& queue, const Work& work) noexcept
    : queue_(queue), begun_(base::Clock::now()) {
  const std::lock_guard lock(queue_.mutex_);
  account_ = queue_.times_.begin(queue_.client_of(work), begun_);
}

WorkQueue::Turn::~Turn() {
  const std::lock_guard lock(queue_.mutex_);
  queue_.times_.end(account_, begun_, base::Clock::now());
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
  recount();
  wake_all();
}

}  // namespace framewire::engine
