#include <algorithm>
#include <commands/stream/frames_ahead.hpp>
#include <system_error>
#include <utility>

namespace framewire::app {
namespace {

using frames::OutgoingFrame;

// Before the first is made, and its size known.
constexpr std::size_t kAtFirst = 8;

}  // namespace

FramesAhead::FramesAhead(Next next, Make make, const Bounds& bounds)
    : next_(std::move(next)), make_(std::move(make)), bounds_(bounds) {
  try {
    for (unsigned i = 0; i < bounds_.threads; ++i) threads_.emplace_back([this] { work(); });
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
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return making_ == 0; });
}

std::size_t FramesAhead::most() const {
  if (largest_bytes_ == 0) return std::min(bounds_.frames, kAtFirst);
  const auto fit = static_cast<std::size_t>(bounds_.bytes / largest_bytes_);
  return std::clamp<std::size_t>(fit, std::min<std::size_t>(bounds_.frames, 2), bounds_.frames);
}

// The next input, with its place in the line.
std::optional<FramesAhead::Job> FramesAhead::begin() {
  const std::lock_guard inputs(inputs_);
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return ended_ || line_.size() < most(); });
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
  Job job{(*input)->label, (*input)->error, std::make_shared<std::promise<Made>>()};
  line_.push_back(job.made->get_future());
  ++making_;
  return job;
}

void FramesAhead::work() {
  while (auto job = begin()) {
    if (job->error) {
      job->made->set_value(fail(*job->error));
      end(0);
      continue;
    }
    try {
      make_(job->path, [this, made = job->made](Made frame, std::uint64_t held_bytes) {
        const std::uint64_t bytes = frame ? frame->header.payload_bytes : 0;
        made->set_value(std::move(frame));
        end(std::max({bytes, held_bytes, std::uint64_t{1}}));
      });
    } catch (...) {
      job->made->set_exception(std::current_exception());
      end(0);
    }
  }
}

// Under the lock to its end: whoever waits for the last destroys this.
void FramesAhead::end(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (largest_bytes_ == 0 && bytes > 0) room_.notify_one();
  largest_bytes_ = std::max(largest_bytes_, bytes);
  if (--making_ == 0) idle_.notify_all();
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
  // Not for every frame: waking a reader costs as much as sending a small one.
  const bool wake = line_.size() + most() / (threads_.size() > 1 ? 8 : 2) <= most();
  lock.unlock();
  if (wake) room_.notify_one();
  return first.get();
}

}  // namespace framewire::app
