// Requests on their way into an engine's queues.
#include <fmt/format.h>
#include <algorithm>
#include <engine/dispatcher.hpp>
#include <new>

namespace framewire::engine {

void Dispatcher::submit(std::span<EngineRequest> requests) {
  while (!requests.empty()) {
    const std::size_t count = std::min(requests.size(), flow_.admission().capacity());
    std::vector<WorkPtr> works;
    works.reserve(count);
    for (EngineRequest& request : requests.first(count)) works.push_back(make_work(request));
    flow_.admission().enter(count);  // where memory ran out before, nobody waits for an answer
    admit(std::move(works));
    requests = requests.subspan(count);
  }
}

std::size_t Dispatcher::try_submit(std::span<EngineRequest> requests,
                                   std::function<void()> on_room) {
  const std::size_t count = flow_.admission().try_enter(requests.size(), std::move(on_room));
  std::vector<WorkPtr> works;
  try {
    works.reserve(count);
    for (EngineRequest& request : requests.first(count)) works.push_back(make_work(request));
  } catch (...) {
    flow_.admission().leave(count);
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
    work->on_stop.emplace(work->stop, [this] { flow_.watch().look_now(); });
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
    if (const std::uint32_t ms = work->options.limits.deadline_ms; ms != 0) {
      work->deadline = now + std::chrono::milliseconds(ms);
    }
    work->traits = inputs_->find(work->bytes);
    const CodecKind asked = work->options.codec;
    const bool automatic = asked == CodecKind::kAuto;
    if (runs_on_host(asked) || (automatic && devices_.empty())) {
      for_host.push_back(std::move(work));
    } else if (automatic || (!devices_.empty() && asked == devices_.front()->lanes.kind)) {
      for_device.push_back(std::move(work));
    } else {
      flow_.answer(
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
  flow_.to_host(std::move(for_host));
  flow_.to_devices(std::move(for_device));
}

bool Dispatcher::is_quiet() const noexcept {
  constexpr std::size_t kFew = 2;
  return lanes_ > lost_lanes_ && flow_.admission().unanswered() <= kFew;
}

}  // namespace framewire::engine
