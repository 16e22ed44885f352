// Where an engine's requests wait, and how they go on from there to their answer.
#pragma once

#include <cstddef>
#include <engine/admission.hpp>
#include <engine/answers.hpp>
#include <engine/conversion_queue.hpp>
#include <engine/counters.hpp>
#include <engine/queue_watch.hpp>
#include <engine/work.hpp>
#include <engine/work_list.hpp>
#include <engine/work_queue.hpp>
#include <string>

namespace framewire::engine {

/// Queues of lanes, of host threads and of those who prepare profiles, and the account of answers.
/// All that the threads of an engine share; each change of a Work's state is one call here.
/// Thread-safe.
class WorkFlow {
 public:
  /// @param capacity  of the admission
  explicit WorkFlow(std::size_t capacity) : admission_(capacity) {}

  [[nodiscard]] Admission& admission() noexcept { return admission_; }
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] QueueWatch& watch() noexcept { return watch_; }
  [[nodiscard]] WorkQueue& device_queue() noexcept { return device_queue_; }
  [[nodiscard]] WorkQueue& host_queue() noexcept { return host_queue_; }
  [[nodiscard]] ConversionQueue& conversions() noexcept { return conversions_; }
  [[nodiscard]] Counters& counters() noexcept { return counters_; }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  /// New requests, in the order in which they came.
  void to_devices(WorkList works) noexcept;
  void to_host(WorkList works) noexcept;
  /// Called by a lane: hands the request to a host thread, which prepares it for a device.
  void host_first(WorkPtr work) noexcept;
  /// Called by that host thread, which has done a part: the rest is for whoever comes first.
  void host_again(WorkPtr work) noexcept { host_queue_.push(std::move(work)); }
  /// Called by that host thread: hands the request back to the lanes.
  void back_to_devices(WorkPtr work) noexcept;
  /// Called by a lane: hands the request to a host thread, for good.
  void fall_back(WorkPtr work, std::string reason) noexcept;
  /// From a lane or a host thread: until Request::conversion is ready on that side.
  void await_conversion(WorkPtr work, color::Side side) noexcept;
  /// Back to where they came from.
  void go_on_with_conversion(WorkList works) noexcept;

  void answer(WorkPtr work, Result<Resized> result) noexcept {
    answers().add(std::move(work), std::move(result));
  }
  /// For several answers of one thread.
  [[nodiscard]] Answers answers() noexcept { return Answers(admission_, counters_.failures); }

  /// Answers what is cancelled or late in the queues. @return the earliest deadline there
  [[nodiscard]] QueueWatch::TimePoint sweep() noexcept;

 private:
  Admission admission_;
  QueueWatch watch_;
  Counters counters_;
  WorkQueue device_queue_{watch_};
  WorkQueue host_queue_{watch_, QueueOrder::kClientTime};
  ConversionQueue conversions_{watch_};
};

}  // namespace framewire::engine
