// Requests on their way into an engine's queues, and out.
#include <fmt/format.h>
#include <algorithm>
#include <engine/dispatcher.hpp>
#include <new>

namespace framewire::engine {

void Dispatcher::submit(std::span<EngineRequest> requests) {
  while (!requests.empty()) {
    const std::size_t count = std::min(requests.size(), admission_.capacity());
    std::vector<WorkPtr> works;
    works.reserve(count);
    for (EngineRequest& request : requests.first(count)) works.push_back(make_work(request));
    admission_.enter(count);  // where memory ran out before, nobody waits for an answer
    admit(std::move(works));
    requests = requests.subspan(count);
  }
}

std::size_t Dispatcher::try_submit(std::span<EngineRequest> requests,
                                   std::function<void()> on_room) {
  const std::size_t count = admission_.try_enter(requests.size(), std::move(on_room));
  std::vector<WorkPtr> works;
  try {
    works.reserve(count);
    for (EngineRequest& request : requests.first(count)) works.push_back(make_work(request));
  } catch (...) {
    admission_.leave(count);
    throw;
  }
  admit(std::move(works));
  return count;
}

WorkPtr Dispatcher::make_work(EngineRequest& request) {
  auto work = std::make_unique<Work>();
  work->bytes = request.jpeg;
  work->options = request.options;
  if (request.completions != nullptr) {
    work->completion.emplace_back().tag = request.tag;
    work->completions = std::move(request.completions);
  }
  work->done = std::move(request.done);
  work->sink = std::move(request.sink);
  if (request.stop.stop_possible()) {
    work->stop = std::move(request.stop);
    work->on_stop.emplace(work->stop, [this] { watch_.look_now(); });
  }
  return work;
}

void Dispatcher::admit(std::vector<WorkPtr> works) {
  std::vector<WorkPtr> for_device;
  std::vector<WorkPtr> for_host;
  for_device.reserve(works.size());
  for_host.reserve(works.size());
  const auto now = base::Clock::now();
  for (WorkPtr& work : works) {
    work->arrived = now;
    if (const std::uint32_t ms = work->options.limits.deadline_ms; ms != 0)
      work->deadline = now + std::chrono::milliseconds(ms);
    const InputStore::Place place = inputs_->find(work->bytes);
    work->pinned = place.pinned;
    work->changes = place.changes;
    const CodecKind asked = work->options.codec;
    const bool automatic = asked == CodecKind::kAuto;
    if (runs_on_host(asked) || (automatic && devices_.empty())) {
      for_host.push_back(std::move(work));
    } else if (automatic || (!devices_.empty() && asked == devices_.front()->lanes.kind)) {
      for_device.push_back(std::move(work));
    } else {
      answer(
          std::move(work),
          fail(Status(StatusCode::kUnsupported,
                      fmt::format("this engine has no {}; one made for it would", to_string(asked)))
                   .about("codec")));
    }
  }
  if (on_callers_thread_) {
    for (WorkPtr& work : for_host) run_on_host(std::move(work));
    return;
  }
  host_queue_.push(std::move(for_host));
  device_queue_.push(std::move(for_device));
}

QueueWatch::TimePoint Dispatcher::sweep() try {
  std::vector<WorkPtr> over;
  const auto earliest = std::min(device_queue_.remove_over(over), host_queue_.remove_over(over));
  Answers answers(admission_, failures_);
  for (WorkPtr& work : over) {
    auto why = why_over(*work, base::Clock::now());
    answers.add(std::move(work), fail(std::move(*why)));
  }
  return earliest;
} catch (const std::bad_alloc&) {
  return base::Clock::now() + std::chrono::milliseconds(10);  // then again
}

void Dispatcher::answer(WorkPtr work, Result<Resized> result) {
  Answers(admission_, failures_).add(std::move(work), std::move(result));
}

bool Dispatcher::is_quiet() const noexcept {
  constexpr std::size_t kFew = 2;
  return lanes_ > lost_lanes_ && admission_.unanswered() <= kFew;
}

}  // namespace framewire::engine
