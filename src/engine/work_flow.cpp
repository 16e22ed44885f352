#include <algorithm>
#include <engine/work_flow.hpp>
#include <utility>

namespace framewire::engine {
namespace {

void all_go_to(WorkState state, WorkList& works) noexcept {
  WorkList gone;
  while (!works.empty()) {
    works.front().go_to(state);
    gone.push_back(works.pop_front());
  }
  works = std::move(gone);
}

}  // namespace

void DropWork::operator()(Work* work) const noexcept {
  if (work->flow == nullptr) {
    delete work;
  } else {
    work->flow->answer(WorkPtr(work), fail(StatusCode::kBusy, kNoMemory));
  }
}

void WorkFlow::to_devices(WorkList works) noexcept {
  all_go_to(WorkState::kForDevice, works);
  device_queue_.push(std::move(works));
}

void WorkFlow::to_host(WorkList works) noexcept {
  all_go_to(WorkState::kForHost, works);
  host_queue_.push(std::move(works));
}

void WorkFlow::host_first(WorkPtr work) noexcept {
  work->go_to(WorkState::kHostFirst);
  host_queue_.push(std::move(work));
}

void WorkFlow::back_to_devices(WorkPtr work) noexcept {
  work->go_to(WorkState::kForDevice);
  work->device_could_decode = false;
  device_queue_.push(std::move(work));
}

void WorkFlow::fall_back(WorkPtr work, std::string reason) noexcept {
  work->go_to(WorkState::kFallback);
  work->reason = std::move(reason);
  work->coefficients.reset();
  work->device_could_decode = false;
  ++counters_.fallbacks;
  host_queue_.push(std::move(work));
}

void WorkFlow::await_conversion(WorkPtr work, color::Side side) noexcept {
  work->state_before = work->state;
  work->side = side;
  work->go_to(WorkState::kForConversion);
  conversions_.push(std::move(work));
}

void WorkFlow::go_on_with_conversion(WorkList works) noexcept {
  while (!works.empty()) {
    WorkPtr work = works.pop_front();
    work->go_to(work->state_before);
    const bool device = work->state == WorkState::kForDevice;
    (device ? device_queue_ : host_queue_).push(std::move(work));
  }
}

QueueWatch::TimePoint WorkFlow::sweep() noexcept {
  WorkList over;
  const auto earliest = std::min({device_queue_.remove_over(over), host_queue_.remove_over(over),
                                  conversions_.remove_over(over)});
  Answers all = answers();
  while (!over.empty()) {
    Status why = why_over(over.front());
    all.add(over.pop_front(), fail(std::move(why)));
  }
  return earliest;
}

}  // namespace framewire::engine
