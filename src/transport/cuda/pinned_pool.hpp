// Pinned host memory that is used again.
#pragma once

#include <cstddef>
#include <framewire/status.hpp>
#include <map>
#include <mutex>
#include <unordered_map>

namespace framewire::transport::cuda {

/// Pinning 4 MiB takes a millisecond, and the driver's lock; a sink that keeps frames wants some
/// for each. What comes back waits here for the next, up to 64 MiB. Thread-safe. Never destroyed,
/// as its owner is not.
class PinnedPool {
 public:
  /// @return busy; device_lost
  [[nodiscard]] Result<std::byte*> take(std::size_t bytes);
  void give_back(std::byte* memory) noexcept;

 private:
  std::mutex mutex_;
  std::unordered_map<const std::byte*, std::size_t> sizes_;  ///< of all that are out
  std::multimap<std::size_t, std::byte*> spare_;
  std::size_t spare_bytes_ = 0;
};

}  // namespace framewire::transport::cuda
