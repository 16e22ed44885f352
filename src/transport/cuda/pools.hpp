// What copy queues of one device need and use again: making it costs as much as a small copy.
#pragma once

#include <gpu/stream.hpp>
#include <mutex>
#include <optional>
#include <transport/mailbox.hpp>
#include <vector>

namespace framewire::transport::cuda {

/// Thread-safe. What has been made stays: owners are never destroyed while CUDA is in use.
class Pools {
 public:
  explicit Pools(int device) : device_(device) {}
  [[nodiscard]] int device() const { return device_; }

  /// @return device_lost
  [[nodiscard]] Result<gpu::Event> take_event();
  void give_back(gpu::Event event);

  /// None where this build has no code for the device: copies are the engine's then.
  /// @return busy, device_lost
  [[nodiscard]] Result<std::optional<Mailbox>> take_mailbox();
  /// No copy may be under way that it names, and no kernel that reads it.
  void give_back(const Mailbox& mailbox);

 private:
  [[nodiscard]] Result<void> make_mailboxes();

  int device_;
  std::mutex mutex_;
  std::vector<gpu::Event> events_;
  std::vector<Mailbox> mailboxes_;
  bool kernels_ = true;
};

}  // namespace framewire::transport::cuda
