// Copies on a stream of their own, and marks on streams of the user's.
#pragma once

#include <memory>
#include <mutex>
#include <vector>
#include "gpu/stream.hpp"
#include "transport/device.hpp"

namespace framewire::transport::cuda {

/// Events of one device, used again: making one costs as much as a small copy. Thread-safe.
class EventPool {
 public:
  explicit EventPool(int device) : device_(device) {}
  /// @return device_lost
  [[nodiscard]] Result<gpu::Event> take();
  void give_back(gpu::Event event);

 private:
  int device_;
  std::mutex mutex_;
  std::vector<gpu::Event> events_;
};

/// @return device_lost
[[nodiscard]] Result<std::unique_ptr<CopyQueue>> make_copy_queue(int device, EventPool& events);
[[nodiscard]] Result<std::unique_ptr<Mark>> make_mark(CudaStream stream, EventPool& events);

}  // namespace framewire::transport::cuda
