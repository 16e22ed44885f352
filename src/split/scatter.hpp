// Hands stripes of pictures, by the group, to the workers and gathers what they make of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <framewire/transport.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <split/picture.hpp>
#include <split/worker.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::split {

/// What one device has done, and how its samples travelled.
struct DeviceReport {
  int device = -1;   ///< CUDA ordinal; -1: the host
  std::string path;  ///< of its channel
  std::uint64_t staged_bytes = 0;
  std::uint64_t stripes = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double busy_s = 0;
  bool lost = false;
};

/// One thread that owns the near ends of all channels. A worker whose channel fails, be it for want
/// of memory, is given up: the parcels that it had are marked as lost, and active_workers() no
/// longer names it.
class Scatter {
 public:
  /// Throws nothing.
  using Ready = std::function<void(std::shared_ptr<Group>)>;
  /// What a worker is made of, and the channel to it.
  struct NewWorker {
    std::pair<transport::Channel, transport::Channel> ends;  ///< near and far
    std::unique_ptr<Stages> stages;
  };

  /// @param groups  that there are at most at a time
  /// @param ready   gets every group once, resampled or with parcels lost; called on the thread
  Scatter(std::deque<NewWorker> workers, std::size_t groups, Ready ready);
  /// Ends when everything handed in is through.
  ~Scatter();
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;
  /// Starts the thread, and those of the workers. @return busy where there are too few
  [[nodiscard]] Result<void> start();

  /// Takes a group whose parcels hold the decoded rows, and are laid out for the resampled ones.
  void hand_in(std::shared_ptr<Group> group) noexcept;
  [[nodiscard]] std::size_t workers() const noexcept { return devices_.size(); }
  /// Workers that are not known to be lost, by their place among all.
  [[nodiscard]] std::vector<std::size_t> active_workers();
  /// After drain only: counters of live workers change all the time.
  [[nodiscard]] std::vector<DeviceReport> report();
  /// For tests: breaks a worker's channel as its death would.
  void cut(std::size_t worker);

 private:
  /// A parcel on its way to a worker and back.
  struct Flow {
    std::shared_ptr<Group> group;
    bool sent = false;
    std::optional<transport::Transfer> leaving;
    std::optional<transport::Transfer> arriving;
  };
  struct Device {
    transport::Channel channel;
    std::unique_ptr<SplitWorker> worker;
    std::vector<Flow> flows;  ///< oldest first; room for all groups
    bool lost = false;        ///< written by the thread, with the mutex
    bool cut = false;         ///< guarded by the mutex
  };

  void main() noexcept;
  [[nodiscard]] bool idle() const;
  void start_group(const std::shared_ptr<Group>& group) noexcept;
  [[nodiscard]] Result<void> start_parcel(Device& device, std::size_t index,
                                          const std::shared_ptr<Group>& group);
  bool step(Device& device, std::size_t index) noexcept;
  [[nodiscard]] Result<bool> try_step(Device& device, std::size_t index);
  [[nodiscard]] Result<bool> advance(Device& device, std::size_t index);
  [[nodiscard]] Result<bool> advance(Device& device, std::size_t index, Flow& flow);
  void lose(Device& device, std::size_t index, const Status& why) noexcept;
  void close_parcel(const std::shared_ptr<Group>& group) noexcept;

  Ready ready_;
  std::deque<Device> devices_;
  std::mutex mutex_;
  std::condition_variable handed_in_;
  std::vector<std::shared_ptr<Group>> queue_;  ///< room for all
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace framewire::split
