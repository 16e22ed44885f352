#include "frame_memory.hpp"
#include <algorithm>
#include <utility>

namespace framewire::app {

Result<transport::Region> FrameMemory::take(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(spare_.begin(), spare_.end(), [&](const auto& region) {
      return region.size() >= bytes && !region.in_use();
    });
    if (found != spare_.end()) {
      transport::Region region = std::move(*found);
      spare_.erase(found);
      return region;
    }
    // Smaller ones would only pile up.
    if (!spare_.empty()) spare_.erase(spare_.begin());
  }
  return allocate(place_, bytes);
}

void FrameMemory::give_back(transport::Region region) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(region));
}

}  // namespace framewire::app
