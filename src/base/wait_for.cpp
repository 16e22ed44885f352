#include <poll.h>
#include <algorithm>
#include <base/wait_for.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace framewire::base {

bool wait_for(int fd, bool write, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd item{fd, static_cast<short>(write ? POLLOUT : POLLIN), 0};
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, 60'000);
    const int ready = ::poll(&item, 1, static_cast<int>(ms));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace framewire::base
