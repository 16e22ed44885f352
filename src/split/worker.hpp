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
  std::atomic<std::uint64_t> stripes{0};  ///< of pictures
  std::atomic<std::uint64_t> bytes_in{0};
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> busy_ns{0};  ///< resampling
};

/// A thread with the far end of a channel. Groups, with plans and stripes, are passed by pointer
/// within the process. Samples travel by the channel alone, as they must where the device has
/// memory of its own.
class SplitWorker {
 public:
  SplitWorker(std::unique_ptr<Stages> stages, transport::Channel channel, std::size_t index);
  ~SplitWorker();
  SplitWorker(const SplitWorker&) = delete;
  SplitWorker& operator=(const SplitWorker&) = delete;
  /// @return busy where no thread can be started
  [[nodiscard]] Result<void> start();

  /// Hands over the worker's parcel of a group. The decoded rows come next, for a lease that the
  /// worker grants; the resampled ones go to the lease that it was granted. Where memory runs out,
  /// it puts no byte there.
  void assign(std::shared_ptr<const Group> group);
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const WorkerStats& stats() const noexcept { return stats_; }
  [[nodiscard]] int device() const noexcept { return stages_->place().device; }
  /// Why the worker has closed its channel, if it has.
  [[nodiscard]] std::optional<Status> failure();

 private:
  /// A parcel that the worker has; there are three, so that one arrives and one leaves while
  /// another is resampled.
  struct Task {
    /// In this order.
    enum class State : std::uint8_t {
      kArriving,  ///< the decoded rows are on their way here
      kWaiting,   ///< resampled, or refused; for a lease to put the rows to
      kLeaving,   ///< the put is under way
      kOver,
    };
    std::shared_ptr<const Group> group;
    State state = State::kArriving;
    bool refused = false;          ///< memory ran out: no byte is put where the rows were to go
    transport::Transfer transfer;  ///< that it waits for, while arriving or leaving
  };
  /// Memory of a task; kept for later ones.
  struct Slot {
    PlaneStack in;
    PlaneStack out;
  };

  void main();
  void wait_for_work();
  bool take_new();
  bool advance();
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] Result<void> begin(std::shared_ptr<const Group> group);
  [[nodiscard]] Result<void> lay_out(const Group& group, Slot& slot);
  [[nodiscard]] Result<bool> advance(std::size_t index);
  [[nodiscard]] Result<bool> receive(const Task& task);
  [[nodiscard]] Result<void> resample(Task& task, Slot& slot);
  void give_up(const Status& why);
  [[nodiscard]] Result<void> send(Task& task, const Slot& slot);

  std::unique_ptr<Stages> stages_;
  transport::Channel channel_;
  std::size_t index_;
  WorkerStats stats_;
  std::mutex mutex_;
  std::condition_variable assigned_;
  std::deque<std::shared_ptr<const Group>> queue_;
  bool stop_ = false;
  std::optional<Status> failure_;
  std::deque<Task> tasks_;     ///< oldest first
  std::deque<Slot> slots_{3};  ///< slots_[i] is of tasks_[i]; they turn together
  transport::Region nothing_;  ///< the region of a refusal's put, which has no bytes
  std::thread thread_;
};

}  // namespace framewire::split
