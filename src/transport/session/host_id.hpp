// Whether two processes can share memory.
#pragma once

#include <array>
#include <cstddef>

namespace framewire::transport {

/// The same for two processes only if they run on one boot of one machine, as one user, and see the
/// same processes and the same /dev/shm. A hint: UCX finds out for itself.
[[nodiscard]] std::array<std::byte, 16> host_id();

}  // namespace framewire::transport
