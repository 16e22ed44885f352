#include <poll.h>
#include <algorithm>
#include <transport/link.hpp>

namespace framewire::transport {

void Link::wait_or_wake(int timeout_ms, int wake_fd) {
  pollfd item{wake_fd, POLLIN, 0};
  if (::poll(&item, 1, 0) > 0) return;
  wait(std::min(timeout_ms, 1));
}

}  // namespace framewire::transport
