#include <algorithm>
#include <chrono>
#include <engine/work_flow.hpp>
#include <new>
#include <utility>

namespace framewire::engine {

void WorkFlow::to_devices(std::vector<WorkPtr> works) {
  for (const WorkPtr& work : works) work->go_to(WorkState::kForDevice);
  device_queue_.push(std::move(works));
}

void WorkFlow::to_host(std::vector<WorkPtr> works) {
  for (const WorkPtr& work : works) work->go_to(WorkState::kForHost);
  host_queue_.push(std::move(works));
}

void WorkFlow::host_first(WorkPtr work) {
  work->go_to(WorkState::kHostFirst);
  host_queue_.push(std::move(work));
}

void WorkFlow::back_to_devices(WorkPtr work) {
  work->go_to(WorkState::kForDevice);
  device_queue_.push(std::move(work));
}

void WorkFlow::fall_back(WorkPtr work, std::string reason) {
  work->go_to(WorkState::kFallback);
  work->reason = std::move(reason);
  work->coefficients.reset();
  ++counters_.fallbacks;
  host_queue_.push(std::move(work));
}

QueueWatch::TimePoint WorkFlow::sweep() try {
  std::vector<WorkPtr> over;
  const auto earliest = std::min(device_queue_.remove_over(over), host_queue_.remove_over(over));
  Answers all = answers();
  for (WorkPtr& work : over) {
    auto why = why_over(*work, base::Clock::now());
    all.add(std::move(work), fail(std::move(*why)));
  }
  return earliest;
} catch (const std::bad_alloc&) {
  return base::Clock::now() + std::chrono::milliseconds(10);  // then again
}

}  // namespace framewire::engine
