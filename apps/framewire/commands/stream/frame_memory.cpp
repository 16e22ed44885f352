#include <algorithm>
#include <bit>
#include <commands/stream/frame_memory.hpp>
#include <utility>

namespace framewire::app {
namespace {

// Sizes in steps of an eighth, so that frames of similar size use each other's.
std::uint64_t rounded(std::uint64_t bytes) {
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_ceil(bytes) / 16, 1);
  return (bytes + step - 1) / step * step;
}

}  // namespace

Result<transport::Region> FrameMemory::take(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(spare_.lower_bound(bytes), spare_.end(),
                                    [](const auto& entry) { return !entry.second.in_use(); });
    if (found != spare_.end()) {
      transport::Region region = std::move(found->second);
      spare_.erase(found);
      return region;
    }
    // Smaller ones would only pile up.
    if (!spare_.empty()) spare_.erase(spare_.begin());
  }
  return place_.allocate(rounded(bytes));
}

void FrameMemory::give_back(transport::Region region) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = region.size();
  spare_.emplace(size, std::move(region));
}

}  // namespace framewire::app
