// One device of a split: receives stripes of decoded planes, resamples them, sends them back.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <framewire/transport.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <split/picture.hpp>
#include <split/stages.hpp>
#include <thread>
#include <vector>

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
/// memory of its own. Where memory runs out for a parcel, that is refused; where it runs out for
/// the channel, that is closed.
class SplitWorker {
 public:
  /// @param groups  that there are at most at a time
  SplitWorker(std::unique_ptr<Stages> stages, transport::Channel channel, std::size_t index,
              std::size_t groups);
  ~SplitWorker();
  SplitWorker(const SplitWorker&) = delete;
  SplitWorker& operator=(const SplitWorker&) = delete;
  /// @return busy where no thread can be started
  [[nodiscard]] Result<void> start();

  /// Hands over the worker's parcel of a group. The decoded rows come next, for a lease that the
  /// worker grants; the resampled ones go to the lease that it was granted. Where memory runs out,
  /// it puts no byte there.
  void assign(std::shared_ptr<const Group> group) noexcept;
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const WorkerStats& stats() const noexcept { return stats_; }
  [[nodiscard]] int device() const noexcept { return stages_->place().device; }
  /// Why the worker has closed its channel, if it has.
  [[nodiscard]] std::optional<Status> failure() noexcept;

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

  void main() noexcept;
  [[nodiscard]] Result<void> turn();
  void wait_for_work();
  [[nodiscard]] Result<bool> take_new();
  [[nodiscard]] Result<bool> advance();
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] Result<void> begin(std::shared_ptr<const Group> group);
  [[nodiscard]] Result<void> lay_out(const Group& group, Slot& slot);
  [[nodiscard]] Result<bool> advance(std::size_t index);
  [[nodiscard]] Result<bool> receive(const Task& task);
  [[nodiscard]] Result<void> resample(Task& task, Slot& slot);
  void give_up(Status why) noexcept;
  [[nodiscard]] Result<void> send(Task& task, const Slot& slot);

  std::unique_ptr<Stages> stages_;
  transport::Channel channel_;
  std::size_t index_;
  WorkerStats stats_;
  std::mutex mutex_;
  std::condition_variable assigned_;
  std::vector<std::shared_ptr<const Group>> queue_;  ///< room for all
  bool stop_ = false;
  std::optional<Status> failure_;
  std::vector<Task> tasks_;    ///< oldest first; room for as many as there are slots
  std::array<Slot, 3> slots_;  ///< slots_[i] is of tasks_[i]; they turn together
  transport::Region nothing_;  ///< the region of a refusal's put, which has no bytes
  std::thread thread_;
};

}  // namespace framewire::split
