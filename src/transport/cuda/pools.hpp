// What copy queues of one device need and use again: making it costs as much as a small copy.
#pragma once

#include <mutex>
#include <vector>
#include "gpu/stream.hpp"
#include "transport/cuda/copy_kernel.hpp"

namespace framewire::transport::cuda {

/// Thread-safe. What has been made stays: owners are never destroyed while CUDA is in use.
class Pools {
 public:
  explicit Pools(int device) : device_(device) {}
  [[nodiscard]] int device() const { return device_; }

  /// @return device_lost
  [[nodiscard]] Result<gpu::Event> take_event();
  void give_back(gpu::Event event);

  /// At ticket 0. No flag where this build has no code for the device: copies are the engine's
  /// then. @return busy, device_lost
  [[nodiscard]] Result<Signal> take_signal();
  /// No copy may be under way that tells it.
  void give_back(const Signal& signal);

 private:
  [[nodiscard]] Result<void> make_signals();

  int device_;
  std::mutex mutex_;
  std::vector<gpu::Event> events_;
  std::vector<Signal> signals_;
  bool kernels_ = true;
};

}  // namespace framewire::transport::cuda
