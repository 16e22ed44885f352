#include "frames_ahead.hpp"
#include <system_error>
#include <utility>

namespace framewire::app {

using frames::OutgoingFrame;

FramesAhead::FramesAhead(Next next, Make make, unsigned threads, std::size_t ahead)
    : next_(std::move(next)), make_(std::move(make)), ahead_(ahead) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // with fewer it is slower, with none there is nothing
  }
}

FramesAhead::~FramesAhead() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// The next input, with its place in the line.
std::optional<FramesAhead::Job> FramesAhead::begin() {
  const std::lock_guard inputs(inputs_);
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return ended_ || line_.size() < ahead_; });
  if (ended_) return std::nullopt;
  lock.unlock();
  auto input = next_();
  lock.lock();
  filled_.notify_one();
  if (!input || !*input) {
    ended_ = true;
    room_.notify_all();
    if (!input) error_ = input.error();
    return std::nullopt;
  }
  Job job{(*input)->path, (*input)->error, {}};
  line_.push_back(job.made.get_future());
  return job;
}

void FramesAhead::work() {
  while (auto job = begin()) {
    try {
      job->made.set_value(job->error ? fail(*job->error) : make_(job->path));
    } catch (...) {
      job->made.set_exception(std::current_exception());
    }
  }
}

FramesAhead::State FramesAhead::wait(std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  const auto told = [this] { return ended_ || !line_.empty(); };
  if (!told() && !filled_.wait_for(lock, most, told)) return State::kNotYet;
  if (line_.empty()) return State::kEnd;
  const std::future<Made>& first = line_.front();  // which only this thread takes away
  lock.unlock();
  return first.wait_for(most) == std::future_status::ready ? State::kReady : State::kNotYet;
}

Result<OutgoingFrame> FramesAhead::take() {
  std::unique_lock lock(mutex_);
  std::future<Made> first = std::move(line_.front());
  line_.pop_front();
  // A lone reader not for every frame: waking it costs as much as sending a small one.
  const bool wake = threads_.size() > 1 || line_.size() <= ahead_ / 2;
  lock.unlock();
  if (wake) room_.notify_one();
  return first.get();
}

}  // namespace framewire::app
