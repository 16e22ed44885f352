// Requests on their way into an engine's queues.
#include <fmt/format.h>
#include <algorithm>
#include <engine/dispatcher.hpp>
#include <utility>

namespace framewire::engine {

/// A group that waited until all of it had room would enter an empty engine. So a large group
/// enters in parts, each as soon as it has room. All parts are made before the first enters:
/// requests that are in work cannot be taken back where memory runs out for a later one.
void Dispatcher::submit(std::span<EngineRequest> requests) {
  const std::size_t capacity = flow_.admission().capacity();
  if (requests.size() <= capacity / 2) return admit_when_room(route(requests));
  const std::size_t most = std::max<std::size_t>(1, capacity / 16);
  std::vector<Routes> parts;
  parts.reserve((requests.size() + most - 1) / most);
  while (!requests.empty()) {
    const std::size_t count = std::min(requests.size(), most);
    parts.push_back(route(requests.first(count)));
    requests = requests.subspan(count);
  }
  for (Routes& part : parts) admit_when_room(std::move(part));
}

void Dispatcher::admit_when_room(Routes routes) {
  flow_.admission().enter(routes.size());
  admit(std::move(routes));
}

std::size_t Dispatcher::try_submit(std::span<EngineRequest> requests,
                                   std::function<void()> on_room) {
  const std::size_t count = flow_.admission().try_enter(requests.size(), std::move(on_room));
  Routes routes;
  try {
    routes = route(requests.first(count));
  } catch (...) {
    flow_.admission().leave(count);
    throw;
  }
  admit(std::move(routes));
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

Dispatcher::Routes Dispatcher::route(std::span<EngineRequest> requests) {
  Routes routes;
  for (EngineRequest& request : requests) {
    WorkPtr work = make_work(request);
    const CodecKind asked = work->options.codec;
    const bool automatic = asked == CodecKind::kAuto;
    if (runs_on_host(asked) || (automatic && devices_.empty())) {
      routes.host.push_back(std::move(work));
    } else if (automatic || (!devices_.empty() && asked == devices_.front()->lanes.kind)) {
      routes.devices.push_back(std::move(work));
    } else {
      work->reason = fmt::format("this engine has no {}; one made for it would", to_string(asked));
      routes.refused.push_back(std::move(work));
    }
  }
  return routes;
}

void Dispatcher::admit(Routes routes) noexcept {
  const auto now = base::Clock::now();
  for (WorkList* list : {&routes.devices, &routes.host, &routes.refused}) {
    for (Work* work = list->empty() ? nullptr : &list->front(); work != nullptr;
         work = work->next.get()) {
      work->flow = &flow_;
      work->arrived = now;
      if (const std::uint32_t ms = work->options.limits.deadline_ms; ms != 0) {
        work->deadline = now + std::chrono::milliseconds(ms);
      }
      work->traits = inputs_->find(work->bytes);
    }
  }
  while (!routes.refused.empty()) {
    WorkPtr work = routes.refused.pop_front();
    Status why = Status(StatusCode::kUnsupported, std::move(work->reason)).about("codec");
    flow_.answer(std::move(work), fail(std::move(why)));
  }
  if (on_callers_thread_) {
    while (!routes.host.empty()) run_on_host(routes.host.pop_front());
    return;
  }
  flow_.to_host(std::move(routes.host));
  flow_.to_devices(std::move(routes.devices));
}

bool Dispatcher::is_quiet() const noexcept {
  constexpr std::size_t kFew = 2;
  return lanes_ > lost_lanes_ && flow_.admission().unanswered() <= kFew;
}

}  // namespace framewire::engine
