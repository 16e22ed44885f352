// Copy queues of one direction of one connection, one a device, made when first needed.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include "transport/device.hpp"

namespace framewire::transport::peer {

class Queues {
 public:
  /// @return device_lost, busy
  [[nodiscard]] Result<CopyQueue*> of(DeviceMemory& devices, int device) {
    auto& queue = queues_[{&devices, device}];
    if (queue == nullptr) {
      auto made = devices.make_queue(device);
      if (!made) return fail(made.error());
      queue = std::move(*made);
    }
    return queue.get();
  }
  /// Waits for everything.
  void finish() {
    for (auto& [device, queue] : queues_) static_cast<void>(queue->finish());
  }

 private:
  std::map<std::pair<DeviceMemory*, int>, std::unique_ptr<CopyQueue>> queues_;
};

/// Pinned host memory that copies go through.
class Pinned {
 public:
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() {
    if (memory_ != nullptr) devices_->release_pinned(memory_);
  }
  /// The memory, allocated when first asked for. @return busy
  [[nodiscard]] Result<std::byte*> get(DeviceMemory& devices, std::size_t bytes) {
    if (memory_ != nullptr) return memory_;
    const auto memory = devices.allocate_pinned(bytes);
    if (!memory) return fail(memory.error());
    devices_ = &devices;
    memory_ = *memory;
    return memory_;
  }

 private:
  DeviceMemory* devices_ = nullptr;
  std::byte* memory_ = nullptr;
};

}  // namespace framewire::transport::peer
