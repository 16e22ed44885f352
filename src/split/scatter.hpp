// Hands stripes of pictures to the workers and gathers what they make of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <framewire/transport.hpp>
#include <functional>
#include <memory>
#include <mutex>
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

/// One thread that owns the near ends of all channels. A worker whose channel fails is given up:
/// the pictures that it had a stripe of fail with peer_lost, later ones are divided among the
/// others.
class Scatter {
 public:
  using Ready = std::function<void(std::shared_ptr<Picture>)>;
  /// A worker to be, and the channel to it.
  struct Hire {
    std::pair<transport::Channel, transport::Channel> ends;  ///< near and far
    std::unique_ptr<Stages> stages;
  };

  /// @param stages  for its arithmetic of rows
  /// @param ready  gets every picture once, resampled or with its error; called on the thread
  Scatter(const codec::TurboStages& stages, std::deque<Hire> workers, Ready ready);
  /// Ends when everything handed in is through.
  ~Scatter();
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;

  /// Takes a picture whose decoded planes are complete.
  void hand_in(std::shared_ptr<Picture> picture);
  /// After drain only: counters of live workers change all the time.
  [[nodiscard]] std::vector<DeviceReport> report();
  /// For tests: breaks a worker's channel as its death would.
  void cut(std::size_t worker);

 private:
  /// A stripe on its way to a worker and back.
  struct Flow {
    std::shared_ptr<Picture> picture;
    std::deque<std::size_t> to_send;  ///< planes
    std::deque<transport::Transfer> leaving;
    std::deque<transport::Transfer> arriving;
  };
  struct Device {
    transport::Channel channel;
    std::unique_ptr<Worker> worker;
    std::deque<Flow> flows;
    bool lost = false;
    bool cut = false;  ///< guarded by the mutex
  };

  void main();
  [[nodiscard]] bool idle() const;
  void start(std::shared_ptr<Picture> picture);
  [[nodiscard]] Result<void> start_stripe(Device& device, std::size_t index,
                                          const std::shared_ptr<Picture>& picture);
  bool step(Device& device, std::size_t index);
  [[nodiscard]] Result<bool> advance(Device& device, std::size_t index);
  void lose(Device& device, const Status& why);
  void close_stripe(const std::shared_ptr<Picture>& picture, std::optional<Status> error);

  const codec::TurboStages& stages_;
  Ready ready_;
  std::deque<Device> devices_;
  std::mutex mutex_;
  std::condition_variable handed_in_;
  std::deque<std::shared_ptr<Picture>> queue_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace framewire::split
