// Two channels of one process: the reference that the other links are compared with.
#pragma once

#include <memory>
#include <transport/link.hpp>
#include <utility>

namespace framewire::transport {

/// Two ends of one link, joined by a queue each way; the receiving end copies. Each end may live on
/// a thread of its own. Destroying or closing one end is the peer's death for the other.
[[nodiscard]] std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> make_loopback();

}  // namespace framewire::transport
