#include <base/clock.hpp>
#include <split/worker.hpp>
#include <utility>

namespace framewire::split {
namespace {

using transport::Direction;
using transport::Transfer;

std::uint64_t row_bytes(const codec::RowSpan& rows, std::int32_t width_px) {
  return static_cast<std::uint64_t>(rows.count) * static_cast<std::uint64_t>(width_px);
}

}  // namespace

Worker::Worker(const codec::TurboStages& stages, transport::Channel channel, std::size_t index)
    : stages_(stages), channel_(std::move(channel)), index_(index), thread_([this] { main(); }) {}

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
  if (auto begun = begin(std::move(picture)); !begun) channel_.close();
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
  if (auto room = slot.in.lay_out(in); !room) return room;
  if (auto room = slot.out.lay_out(out); !room) return room;
  Task& task = tasks_.emplace_back();
  task.picture = std::move(picture);
  for (std::size_t p = 0; p < stripe.size(); ++p) {
    if (stripe[p].out.count == 0) continue;
    const auto offer = channel_.offer(slot.in.memory, slot.in.offset_bytes[p],
                                      row_bytes(stripe[p].in, in[p].first));
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
      channel_.close();
      return false;
    }
    if (!*all) return false;
    resample(task, slots_.front());
  }
  const auto all = deliver(task, slots_.front());
  if (!all) channel_.close();
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

void Worker::resample(Task& task, Slot& slot) {
  const auto start = base::Clock::now();
  const Stripe& stripe = task.picture->stripes[index_];
  for (std::size_t p = 0; p < stripe.size(); ++p)
    if (stripe[p].out.count > 0)
      stages_.resample(task.picture->request.plan, static_cast<int>(p), stripe[p].out,
                       slot.in.planes[p].samples, slot.out.planes[p].samples);
  task.resampled = true;
  ++stats_.stripes;
  stats_.busy_ns += static_cast<std::uint64_t>(base::elapsed_us(start) * 1000);
}

Result<bool> Worker::deliver(Task& task, const Slot& slot) {
  while (!task.to_send.empty() && channel_.credits(Direction::kPut) > 0) {
    const auto lease = channel_.take_lease(Direction::kPut);
    if (!lease) return fail(lease.error());
    const std::size_t p = task.to_send.front();
    const codec::PlaneView& plane = slot.out.planes[p];
    const auto put = channel_.put(*lease, slot.out.memory, slot.out.offset_bytes[p],
                                  row_bytes({0, plane.height_px}, plane.width_px));
    if (!put) return fail(put.error());
    task.to_send.pop_front();
    task.leaving.push_back(*put);
  }
  while (!task.leaving.empty() && channel_.done(task.leaving.front())) {
    const auto sent = channel_.finish(task.leaving.front());
    if (!sent) return fail(sent.error());
    stats_.bytes_out += sent->length_bytes;
    task.leaving.pop_front();
  }
  return task.to_send.empty() && task.leaving.empty();
}

}  // namespace framewire::split
