// The running account of a batch, shared by its workers.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <batch/one_input.hpp>
#include <framewire/batch.hpp>
#include <mutex>

namespace framewire::batch {

/// Counts rows, hands them to the caller one at a time, and works out rate and time left.
class Tally {
 public:
  explicit Tally(const RunOptions& with) : with_(with) {}

  /// Adds one input's result. Thread safety: any number of threads at once.
  void add(const Processed& processed);
  /// The total, from the count ahead; any thread.
  void set_total(std::uint64_t total) { total_ = total; }
  /// Calls on_progress whatever time has passed.
  void report();
  /// The summary of a batch that has ended.
  [[nodiscard]] Summary summarise(unsigned jobs, bool interrupted,
                                  std::optional<Status> stopped_by);

 private:
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  void count(const Row& row);
  void report_locked();

  const RunOptions& with_;
  const base::Clock::time_point start_ = base::Clock::now();
  std::atomic<std::uint64_t> total_{kUnknown};
  std::mutex mutex_;
  Summary summary_;
  base::Clock::time_point reported_ = start_;
};

}  // namespace framewire::batch
