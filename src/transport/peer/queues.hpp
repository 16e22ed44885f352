// The queues and the memory that one direction of a connection copies with, made when first needed.
#pragma once

#include <map>
#include <memory>
#include <transport/device.hpp>
#include <utility>

namespace framewire::transport::peer {

/// Copy queues, one a device.
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
  /// Waits for all copies of all queues.
  void synchronize() {
    for (auto& [device, queue] : queues_) static_cast<void>(queue->synchronize());
  }

 private:
  std::map<std::pair<DeviceMemory*, int>, std::unique_ptr<CopyQueue>> queues_;
};

/// Pinned host memory of one slot, for copies between a device and a link.
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

/// Device memory that a network card reads and writes; like a receive buffer, it never holds
/// anything but what goes over this connection.
class CardSlot {
 public:
  CardSlot() = default;
  CardSlot(const CardSlot&) = delete;
  CardSlot& operator=(const CardSlot&) = delete;
  ~CardSlot() { release(); }
  /// Memory of the device, allocated when first asked for, or when it was another device's; nothing
  /// uses that any more. @return busy, device_lost
  [[nodiscard]] Result<std::byte*> get(DeviceMemory& devices, int device, std::size_t bytes) {
    if (memory_ != nullptr && use_.devices == &devices && use_.device == device) return memory_;
    release();
    const auto memory = devices.allocate(device, bytes);
    if (!memory) return fail(memory.error());
    use_.devices = &devices;
    use_.device = device;
    use_.ours = true;
    memory_ = *memory;
    return memory_;
  }
  /// What a link is told of it.
  [[nodiscard]] const DeviceUse& use() const { return use_; }

 private:
  void release() {
    if (memory_ != nullptr) use_.devices->release(use_.device, std::exchange(memory_, nullptr));
  }

  DeviceUse use_;
  std::byte* memory_ = nullptr;
};

}  // namespace framewire::transport::peer
