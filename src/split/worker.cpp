#include <base/clock.hpp>
#include <split/worker.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;
using transport::Transfer;

}  // namespace

Worker::Worker(std::unique_ptr<Stages> stages, transport::Channel channel, std::size_t index)
    : stages_(std::move(stages)),
      channel_(std::move(channel)),
      index_(index),
      thread_([this] { main(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  assigned_.notify_all();
  thread_.join();
}

void Worker::assign(std::shared_ptr<const Picture> picture) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(picture));
  assigned_.notify_all();
}

std::optional<Status> Worker::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Worker::give_up(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
  }
  channel_.close();
}

void Worker::main() {
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
      // The other end knows, and answers for what was in work.
      tasks_.clear();
    } else if (!began && !moved && !advanced) {
      channel_.idle(1);
    }
  }
}

void Worker::wait_for_work() {
  std::unique_lock lock(mutex_);
  assigned_.wait(lock, [this] { return stop_ || !queue_.empty(); });
}

bool Worker::take_new() {
  std::shared_ptr<const Picture> picture;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || tasks_.size() == slots_.size()) return false;
    picture = std::move(queue_.front());
    queue_.pop_front();
  }
  if (auto begun = begin(std::move(picture)); !begun) give_up(begun.error());
  return true;
}

Result<void> Worker::begin(std::shared_ptr<const Picture> picture) {
  const plan::Plan& plan = picture->request.plan;
  const Stripe& stripe = picture->stripes[index_];
  std::vector<codec::PlaneSize> in;
  std::vector<codec::PlaneSize> out;
  for (std::size_t p = 0; p < stripe.size(); ++p) {
    in.emplace_back(plan.planes[p].x.in_size, stripe[p].in.count);
    out.emplace_back(plan.planes[p].x.out_size, stripe[p].out.count);
  }
  Slot& slot = slots_[tasks_.size()];
  if (auto room = slot.in.lay_out(in, stages_->place()); !room) return room;
  if (auto room = slot.out.lay_out(out, stages_->place()); !room) return room;
  Task& task = tasks_.emplace_back();
  task.picture = std::move(picture);
  for (std::size_t p = 0; p < stripe.size(); ++p) {
    if (stripe[p].out.count == 0) continue;
    const Stretch rows = stretch_of(slot.in, p, {0, stripe[p].in.count});
    const auto offer = channel_.offer(slot.in.memory, rows.offset_bytes, rows.length_bytes);
    if (!offer) return fail(offer.error());
    task.arriving.push_back(*offer);
    task.to_send.push_back(p);
  }
  return {};
}

bool Worker::advance() {
  if (tasks_.empty()) return false;
  Task& task = tasks_.front();
  if (!task.resampled) {
    const auto all = receive(task);
    if (!all) {
      give_up(all.error());
      return false;
    }
    if (!*all) return false;
    if (auto made = resample(task, slots_.front()); !made) {
      give_up(made.error());
      return false;
    }
  }
  const auto all = deliver(task, slots_.front());
  if (!all) give_up(all.error());
  if (!all || !*all) return false;
  tasks_.pop_front();
  slots_.push_back(std::move(slots_.front()));
  slots_.pop_front();
  return true;
}

Result<bool> Worker::receive(Task& task) {
  while (!task.arriving.empty() && channel_.done(task.arriving.front())) {
    const auto arrived = channel_.finish(task.arriving.front());
    if (!arrived) return fail(arrived.error());
    stats_.bytes_in += arrived->length_bytes;
    task.arriving.pop_front();
  }
  return task.arriving.empty();
}

Result<void> Worker::resample(Task& task, Slot& slot) {
  const auto start = base::Clock::now();
  auto made = stages_->resample(task.picture->request.plan, task.picture->stripes[index_], slot.in,
                                slot.out);
  if (!made) return made;
  task.resampled = true;
  ++stats_.stripes;
  stats_.busy_ns += static_cast<std::uint64_t>(base::elapsed_us(start) * 1000);
  return {};
}

Result<bool> Worker::deliver(Task& task, const Slot& slot) {
  while (!task.to_send.empty() && channel_.credits(Direction::kPut) > 0) {
    const auto lease = channel_.take_lease(Direction::kPut);
    if (!lease) return fail(lease.error());
    const std::size_t p = task.to_send.front();
    const Stretch rows = stretch_of(slot.out, p, {0, slot.out.planes[p].height_px});
    // Counted before anybody can have it: who waits for the picture reads the count.
    stats_.bytes_out += rows.length_bytes;
    const auto put = channel_.put(*lease, slot.out.memory, rows.offset_bytes, rows.length_bytes);
    if (!put) return fail(put.error());
    task.to_send.pop_front();
    task.leaving.push_back(*put);
  }
  while (!task.leaving.empty() && channel_.done(task.leaving.front())) {
    const auto sent = channel_.finish(task.leaving.front());
    if (!sent) return fail(sent.error());
    task.leaving.pop_front();
  }
  return task.to_send.empty() && task.leaving.empty();
}

}  // namespace framewire::split
