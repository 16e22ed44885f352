// Requests on their way into an engine's queues.
#include <fmt/format.h>
#include <algorithm>
#include <engine/callers_work.hpp>
#include <engine/dispatcher.hpp>
#include <utility>

namespace framewire::engine {
namespace {

/// Requests of a part of a large group, where the engine's room does not say so.
constexpr std::size_t kMinPart = 1;
/// Of one that the caller's thread works through: memory is taken for this many requests.
constexpr std::size_t kMaxCallersPart = 16;

}  // namespace

/// A group that waited until all of it had room would enter an empty engine. So a large group
/// enters in parts. Each is made when the one before it has entered, so that memory is taken for
/// requests that have room and for one part more. Requests that are in work cannot be taken back
/// where memory runs out for a later one, which is then answered with that. What such an answer
/// takes, an entry of its completion queue, is there before the first part enters.
void Dispatcher::submit(std::span<EngineRequest> requests, Nested nested) {
  const std::size_t capacity = flow_.admission().capacity();
  const std::size_t small =
      on_callers_thread_ ? std::min(kMaxCallersPart, capacity / 2) : capacity / 2;
  if (requests.size() <= small) return admit_when_room(route(requests), nested);
  const std::size_t most = std::max(kMinPart, on_callers_thread_ ? small : capacity / 16);
  std::list<Completion> entries;
  for (const EngineRequest& request : requests) {
    if (request.completions != nullptr) entries.emplace_back();
  }
  Routes part;
  for (bool first = true; !requests.empty(); first = false) {
    const std::size_t count = std::min(requests.size(), most);
    for (EngineRequest& request : requests.first(count)) {
      try {
        route(request, entries, part);
      } catch (const std::bad_alloc&) {
        if (first) throw;
        refuse(request, entries);
      }
    }
    admit_when_room(std::exchange(part, {}), nested);
    requests = requests.subspan(count);
  }
}

/// Answers a request that memory ran out for. Takes none.
void Dispatcher::refuse(EngineRequest& request, std::list<Completion>& entries) noexcept {
  ++flow_.counters().failures;
  Result<Resized> answer = fail(StatusCode::kBusy, kNoMemory);
  if (request.completions != nullptr) {
    std::list<Completion> entry;
    entry.splice(entry.end(), entries, entries.begin());
    entry.front() = {request.tag, std::move(answer)};
    return std::exchange(request.completions, nullptr)->put(std::move(entry));
  }
  try {
    std::exchange(request.done, nullptr)(std::move(answer));
  } catch (...) {
    // What a caller's function throws is dropped, as by Answers::add().
  }
}

void Dispatcher::admit_when_room(Routes routes, Nested nested) {
  // A callback on the caller's thread would wait for room that only its own thread can make. For
  // what threads or devices do these make it.
  const bool here = on_callers_thread_ || (routes.host.empty() && routes.devices.empty());
  const bool within = here && CallersWork::find(this) != nullptr;
  const auto epoch = within ? flow_.admission().enter_at_once(routes.size())
                            : flow_.admission().enter(routes.size());
  admit(std::move(routes), epoch, nested);
}

std::size_t Dispatcher::try_submit(std::span<EngineRequest> requests,
                                   std::function<void()> on_room) {
  const auto [count, epoch] = flow_.admission().try_enter(requests.size(), std::move(on_room));
  Routes routes;
  try {
    routes = route(requests.first(count));
  } catch (...) {
    flow_.admission().leave(count, 0, epoch);
    throw;
  }
  admit(std::move(routes), epoch, Nested::kLater);
  return count;
}

WorkPtr Dispatcher::make_work(EngineRequest& request, std::list<Completion>& entries) {
  auto work = std::make_unique<Work>();
  work->bytes = request.jpeg;
  work->options = request.options;
  if (request.completions != nullptr) {
    if (entries.empty()) entries.emplace_back();
    // Nothing from here on throws.
    work->completion.splice(work->completion.end(), entries, entries.begin());
    work->completion.front().tag = request.tag;
    work->completions = std::move(request.completions);
  }
  work->done = std::move(request.done);
  work->sink = std::move(request.sink);
  work->client = request.client;
  work->claim = std::move(request.claim);
  work->waited = std::chrono::milliseconds(request.waited_ms);
  if (request.stop.stop_possible()) {
    work->stop = std::move(request.stop);
    work->on_stop.emplace(work->stop, [this] { flow_.watch().look_now(); });
  }
  return work;
}

void Dispatcher::route(EngineRequest& request, std::list<Completion>& entries, Routes& routes) {
  const CodecKind asked = request.options.codec;
  const bool automatic = asked == CodecKind::kAuto;
  if (runs_on_host(asked) || (automatic && devices_.empty())) {
    routes.host.push_back(make_work(request, entries));
  } else if (automatic || (!devices_.empty() && asked == devices_.front()->lanes.kind)) {
    routes.devices.push_back(make_work(request, entries));
  } else {
    std::string reason =
        fmt::format("this engine has no {}; one made for it would", to_string(asked));
    WorkPtr work = make_work(request, entries);
    work->reason = std::move(reason);
    routes.refused.push_back(std::move(work));
  }
}

Dispatcher::Routes Dispatcher::route(std::span<EngineRequest> requests) {
  Routes routes;
  std::list<Completion> entries;
  for (EngineRequest& request : requests) route(request, entries, routes);
  return routes;
}

void Dispatcher::admit(Routes routes, Admission::Epoch epoch, Nested nested) noexcept {
  const auto now = base::Clock::now();
  for (WorkList* list : {&routes.devices, &routes.host, &routes.refused}) {
    for (Work* work = list->empty() ? nullptr : &list->front(); work != nullptr;
         work = work->next.get()) {
      work->flow = &flow_;
      work->epoch = epoch;
      work->arrived = now;
      if (const std::uint32_t ms = work->options.limits.deadline_ms; ms != 0) {
        work->deadline = work->counted_from() + std::chrono::milliseconds(ms);
      }
      work->traits = inputs_->find(work->bytes);
    }
  }
  WorkList here = std::move(routes.refused);
  if (on_callers_thread_) {
    here.append(std::move(routes.host));
  } else {
    flow_.to_host(std::move(routes.host));
    flow_.to_devices(std::move(routes.devices));
  }
  answer_here(std::move(here), nested);
}

void Dispatcher::answer_here(WorkList works, Nested nested) noexcept {
  if (works.empty()) return;
  CallersWork* const outermost = CallersWork::find(this);
  if (outermost != nullptr && nested == Nested::kLater) {
    return outermost->waiting.append(std::move(works));
  }
  if (outermost != nullptr) {
    while (!works.empty()) answer_here(works.pop_front());
    return;
  }
  CallersWork here(this);
  here.waiting = std::move(works);
  while (!here.waiting.empty()) answer_here(here.waiting.pop_front());
}

void Dispatcher::answer_here(WorkPtr work) noexcept {
  if (work->reason.empty()) return run_on_host(std::move(work));
  Status why = Status(StatusCode::kUnsupported, std::move(work->reason)).about("codec");
  flow_.answer(std::move(work), fail(std::move(why)));
}

bool Dispatcher::is_quiet() const noexcept {
  constexpr std::size_t kFew = 2;
  return lanes_ > lost_lanes_ && flow_.admission().unanswered() <= kFew;
}

}  // namespace framewire::engine
