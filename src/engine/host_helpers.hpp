// Idle host threads, as helpers of a host thread that has one image to itself.
#pragma once

#include <codec/helpers.hpp>
#include <engine/admission.hpp>
#include <engine/work_queue.hpp>

namespace framewire::engine {

/// Lends an engine's host threads while there is little else for the host to do: lanes, too, need
/// cores. Thread-safe.
class HostHelpers final : public codec::Helpers {
 public:
  /// @param queue      of the host threads; outlives this, as `admission` does
  /// @param admission  counts the requests that anyone in this engine may be busy with
  /// @param threads    host threads, or cores where there are fewer
  HostHelpers(WorkQueue& queue, const Admission& admission, std::size_t threads)
      : queue_(queue), admission_(admission), threads_(threads) {}

  [[nodiscard]] std::size_t idle() const noexcept override;
  void invite(codec::SharedWork& work, std::size_t most) noexcept override;
  void dismiss(codec::SharedWork& work) noexcept override { queue_.dismiss(work); }
  [[nodiscard]] bool wanted_elsewhere() const noexcept override { return !queue_.empty(); }

 private:
  WorkQueue& queue_;
  const Admission& admission_;
  const std::size_t threads_;
};

}  // namespace framewire::engine
