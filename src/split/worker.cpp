#include <base/clock.hpp>
#include <base/start_thread.hpp>
#include <split/worker.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;

}  // namespace

SplitWorker::SplitWorker(std::unique_ptr<Stages> stages, transport::Channel channel,
                         std::size_t index)
    : stages_(std::move(stages)), channel_(std::move(channel)), index_(index) {}

Result<void> SplitWorker::start() {
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

void SplitWorker::assign(std::shared_ptr<const Group> group) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(group));
  assigned_.notify_all();
}

std::optional<Status> SplitWorker::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void SplitWorker::give_up(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
  }
  channel_.close();
}

void SplitWorker::main() {
  while (true) {
    if (tasks_.empty()) wait_for_work();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    const bool began = take_new();
    const bool moved = channel_.progress();
    const bool advanced = advance();
    if (channel_.lost()) {
      // Scatter sees the loss, too, and answers for the groups in work.
      tasks_.clear();
    } else if (!began && !moved && !advanced) {
      channel_.idle(1);
    }
  }
}

void SplitWorker::wait_for_work() {
  std::unique_lock lock(mutex_);
  assigned_.wait(lock, [this] { return stop_ || !queue_.empty(); });
}

bool SplitWorker::take_new() {
  std::shared_ptr<const Group> group;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || !has_room()) return false;
    group = std::move(queue_.front());
    queue_.pop_front();
  }
  if (auto begun = begin(std::move(group)); !begun) give_up(begun.error());
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
  const auto room = lay_out(*group, slot);
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
bool SplitWorker::advance() {
  bool moved = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const auto one = advance(i);
    if (!one) {
      give_up(one.error());
      return moved;
    }
    moved = moved || *one;
    if (tasks_[i].state < Task::State::kLeaving) break;  // leases are in the order of the groups
  }
  while (!tasks_.empty() && tasks_.front().state == Task::State::kOver) {
    tasks_.pop_front();
    slots_.push_back(std::move(slots_.front()));
    slots_.pop_front();
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
  auto made = stages_->resample(*task.group, index_, slot.in, slot.out);
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
  if (task.refused && nothing_.size() == 0) {
    auto one = transport::Region::allocate_host(1);
    if (!one) return fail(one.error());
    nothing_ = std::move(*one);
  }
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
