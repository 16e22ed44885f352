// One device of a split: receives stripes of decoded planes, resamples them, sends them back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <framewire/transport.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <split/picture.hpp>
#include <split/stages.hpp>
#include <thread>

namespace framewire::split {

/// Bytes and time of one device; counters only grow.
struct WorkerStats {
  std::atomic<std::uint64_t> stripes{0};
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> busy_ns{0};  ///< resampling
};

/// A thread with the far end of a channel. The picture itself, its plan and which stripe is whose
/// travel by pointer within the process; samples travel by the channel alone, as they must where
/// the device's memory is its own.
class Worker {
 public:
  Worker(std::unique_ptr<Stages> stages, transport::Channel channel, std::size_t index);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Hands over the worker's stripe of a picture. The rows come next, plane by plane, for leases
  /// that the worker grants; the results go, plane by plane, to the leases that it was granted.
  void assign(std::shared_ptr<const Picture> picture);
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const WorkerStats& stats() const noexcept { return stats_; }
  [[nodiscard]] int device() const noexcept { return stages_->place().device; }
  /// Why the worker has closed its channel, if it has.
  [[nodiscard]] std::optional<Status> failure();

 private:
  /// A stripe in the worker's hands; two at a time, so that one arrives while the other is worked
  /// on.
  struct Task {
    std::shared_ptr<const Picture> picture;
    std::deque<transport::Transfer> arriving;
    std::deque<std::size_t> to_send;  ///< planes
    std::deque<transport::Transfer> leaving;
    bool resampled = false;
  };
  /// Memory of a task; kept for the next.
  struct Slot {
    PlaneStack in;
    PlaneStack out;
  };

  void main();
  void wait_for_work();
  bool take_new();
  bool advance();
  [[nodiscard]] Result<void> begin(std::shared_ptr<const Picture> picture);
  [[nodiscard]] Result<bool> receive(Task& task);
  [[nodiscard]] Result<void> resample(Task& task, Slot& slot);
  void give_up(const Status& why);
  [[nodiscard]] Result<bool> deliver(Task& task, const Slot& slot);

  std::unique_ptr<Stages> stages_;
  transport::Channel channel_;
  std::size_t index_;
  WorkerStats stats_;
  std::mutex mutex_;
  std::condition_variable assigned_;
  std::deque<std::shared_ptr<const Picture>> queue_;
  bool stop_ = false;
  std::optional<Status> failure_;
  std::deque<Task> tasks_;     ///< oldest first
  std::deque<Slot> slots_{2};  ///< slots_[i] is of tasks_[i]; they turn together
  std::thread thread_;
};

}  // namespace framewire::split
