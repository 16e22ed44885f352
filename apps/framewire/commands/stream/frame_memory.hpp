// Memory for frames on their way out.
#pragma once

#include <connection/place.hpp>
#include <cstdint>
#include <framewire/transport.hpp>
#include <map>
#include <mutex>

namespace framewire::app {

/// Regions that are used again: fresh pages for every frame cost as much as filling them. Any
/// number of threads.
class FrameMemory {
 public:
  explicit FrameMemory(const MemoryPlace& place = {}) : place_(place) {}
  /// A region of at least that many bytes, which nothing reads or writes. @return busy; device_lost
  [[nodiscard]] Result<transport::Region> take(std::uint64_t bytes);
  /// Keeps a region for later frames. It is used again only when its transfer has let go of it: a
  /// failed transfer may go on reading, and the peer must not get another frame's bytes.
  void give_back(transport::Region region);

 private:
  MemoryPlace place_;
  std::mutex mutex_;
  std::multimap<std::uint64_t, transport::Region> spare_;  ///< by size, the oldest first
};

}  // namespace framewire::app
