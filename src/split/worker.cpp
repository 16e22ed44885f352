#include <algorithm>
#include <base/clock.hpp>
#include <base/no_memory.hpp>
#include <base/start_thread.hpp>
#include <split/worker.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;

}  // namespace

SplitWorker::SplitWorker(std::unique_ptr<Stages> stages, transport::Channel channel,
                         std::size_t index, std::size_t groups)
    : stages_(std::move(stages)), channel_(std::move(channel)), index_(index) {
  queue_.reserve(groups);
  tasks_.reserve(slots_.size());
}

Result<void> SplitWorker::start() {
  auto nothing = transport::Region::allocate_host(1);
  if (!nothing) return fail(std::move(nothing.error()));
  nothing_ = std::move(*nothing);
  auto started = base::start_thread("fw-split-worker", [this] { main(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

SplitWorker::~SplitWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  assigned_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SplitWorker::assign(std::shared_ptr<const Group> group) noexcept {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(group));
  assigned_.notify_all();
}

std::optional<Status> SplitWorker::failure() noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) return std::nullopt;
  return base::copy_of(*failure_);
}

void SplitWorker::give_up(Status why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(why);
  }
  channel_.close();
}

void SplitWorker::main() noexcept {
  while (true) {
    if (tasks_.empty()) wait_for_work();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    auto done = base::unless_memory_runs_out([this] { return turn(); });
    if (!done) give_up(std::move(done.error()));
    // Scatter sees the loss, too, and answers for the groups in work.
    if (channel_.lost()) tasks_.clear();
  }
}

// @return why the worker can go on no more
Result<void> SplitWorker::turn() {
  const auto began = take_new();
  if (!began) return fail(began.error());
  const bool moved = channel_.progress();
  const auto advanced = advance();
  if (!advanced) return fail(advanced.error());
  if (!channel_.lost() && !*began && !moved && !*advanced) channel_.idle(1);
  return {};
}

void SplitWorker::wait_for_work() {
  std::unique_lock lock(mutex_);
  assigned_.wait(lock, [this] { return stop_ || !queue_.empty(); });
}

// @return whether a group was taken
Result<bool> SplitWorker::take_new() {
  std::shared_ptr<const Group> group;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || !has_room()) return false;
    group = std::move(queue_.front());
    queue_.erase(queue_.begin());
  }
  if (auto begun = begin(std::move(group)); !begun) return fail(begun.error());
  return true;
}

// Whether the first group of the queue may begin. Scatter must have received a refusal before the
// next offer comes, or it would take that lease for the refused group's.
bool SplitWorker::has_room() const {
  return tasks_.empty() ||
         (tasks_.size() < slots_.size() && !tasks_.back().refused && !is_alone(*queue_.front()));
}

Result<void> SplitWorker::begin(std::shared_ptr<const Group> group) {
  Slot& slot = slots_[tasks_.size()];
  const auto room = base::unless_memory_runs_out([&] { return lay_out(*group, slot); });
  Task& task = tasks_.emplace_back();
  task.group = std::move(group);
  if (!room) {
    if (room.error().code() != StatusCode::kBusy) return room;
    task.refused = true;
    task.state = Task::State::kWaiting;
    return {};
  }
  const auto offer = channel_.offer(slot.in.memory, 0, slot.in.bytes);
  if (!offer) return fail(offer.error());
  task.transfer = *offer;
  return {};
}

Result<void> SplitWorker::lay_out(const Group& group, Slot& slot) {
  if (is_alone(group)) {
    for (Slot& one : slots_) one = {};
    if (auto ok = stages_->let_go(); !ok) return ok;
  }
  const MemoryPlace place = stages_->place();
  if (auto room = slot.in.lay_out(decoded_rows(group, index_), place); !room) return room;
  return slot.out.lay_out(resampled_rows(group, index_), place);
}

// Resampled rows leave while the next group is resampled.
Result<bool> SplitWorker::advance() {
  bool moved = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    auto one = advance(i);
    if (!one) return one;
    moved = moved || *one;
    if (tasks_[i].state < Task::State::kLeaving) break;  // leases are in the order of the groups
  }
  while (!tasks_.empty() && tasks_.front().state == Task::State::kOver) {
    tasks_.erase(tasks_.begin());
    std::rotate(slots_.begin(), slots_.begin() + 1, slots_.end());
    moved = true;
  }
  return moved;
}

// @return whether anything moved
Result<bool> SplitWorker::advance(std::size_t index) {
  Task& task = tasks_[index];
  const auto before = task.state;
  if (task.state == Task::State::kArriving) {
    auto all = receive(task);
    if (!all || !*all) return all;
    if (auto made = resample(task, slots_[index]); !made) return fail(made.error());
  }
  if (task.state == Task::State::kWaiting) {
    if (auto sent = send(task, slots_[index]); !sent) return fail(sent.error());
  }
  if (task.state == Task::State::kLeaving && channel_.done(task.transfer)) {
    if (const auto left = channel_.take_result(task.transfer); !left) return fail(left.error());
    task.state = Task::State::kOver;
  }
  return task.state != before;
}

// @return whether the rows are there
Result<bool> SplitWorker::receive(const Task& task) {
  if (!channel_.done(task.transfer)) return false;
  const auto arrived = channel_.take_result(task.transfer);
  if (!arrived) return fail(arrived.error());
  stats_.bytes_in += arrived->length_bytes;
  return true;
}

Result<void> SplitWorker::resample(Task& task, Slot& slot) {
  const auto start = base::Clock::now();
  auto made = base::unless_memory_runs_out(
      [&] { return stages_->resample(*task.group, index_, slot.in, slot.out); });
  task.refused = !made && made.error().code() == StatusCode::kBusy;
  if (!made && !task.refused) return made;
  task.state = Task::State::kWaiting;
  if (task.refused) return {};
  for (const auto& picture : task.group->pictures) {
    stats_.stripes += is_empty(picture->stripes[index_]) ? 0 : 1;
  }
  stats_.busy_ns += static_cast<std::uint64_t>(base::elapsed_us(start) * 1000);
  return {};
}

// Puts the rows where a lease says, once there is one.
Result<void> SplitWorker::send(Task& task, const Slot& slot) {
  if (channel_.credits(Direction::kPut) == 0) return {};
  const auto lease = channel_.take_lease(Direction::kPut);
  if (!lease) return fail(lease.error());
  const std::uint64_t bytes = task.refused ? 0 : slot.out.bytes;
  // Counted before the put: whoever waits for the pictures reads the count.
  stats_.bytes_out += bytes;
  const auto put = channel_.put(*lease, task.refused ? nothing_ : slot.out.memory, 0, bytes);
  if (!put) return fail(put.error());
  task.transfer = *put;
  task.state = Task::State::kLeaving;
  return {};
}

}  // namespace framewire::split
