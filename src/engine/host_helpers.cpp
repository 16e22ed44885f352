#include <algorithm>
#include <engine/host_helpers.hpp>

namespace framewire::engine {

/// Each unanswered request may have a thread of its own at work.
std::size_t HostHelpers::idle() const noexcept {
  const std::size_t busy = std::max<std::size_t>(1, admission_.unanswered());
  return busy < threads_ ? std::min(threads_ - busy, queue_.idle()) : 0;
}

void HostHelpers::invite(codec::SharedWork& work, std::size_t most) noexcept {
  queue_.invite(work, std::min(most, idle()));
}

}  // namespace framewire::engine
