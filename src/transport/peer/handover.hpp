// Two processes of one user hand each other a landing, by file descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <framewire/status.hpp>
#include <span>
#include <string>
#include <vector>
#include "base/clock.hpp"
#include "transport/peer/device_link.hpp"
#include "transport/peer/parts.hpp"
#include "transport/wire/socket.hpp"

namespace framewire::transport::peer {

/// What one side brings.
struct HandoverOptions {
  DeviceMemory* devices = nullptr;
  int device = -1;
  unsigned slots = kLandingSlots;  ///< of our landing, 1 to 32
  std::uint64_t slot_bytes = 0;
};

/// A Unix socket of this process without a name in the file system. Whoever wants in must know a
/// secret that went over the authenticated connection, and be a process of the same user, which the
/// kernel says. One exchange, then it is of no more use.
class Doorway {
 public:
  /// @return io_error
  [[nodiscard]] static Result<Doorway> open();
  /// What the other side must be told, over the authenticated connection only.
  [[nodiscard]] const std::vector<std::byte>& blob() const noexcept { return blob_; }
  /// Waits for the one who knows the secret. What cannot be had, in landings or time, is left out,
  /// and Landings::why says so.
  [[nodiscard]] Landings exchange(const HandoverOptions& options, base::Clock::time_point deadline);

 private:
  wire::Socket socket_;
  std::vector<std::byte> blob_;
};

/// The other side of it: goes to the doorway that a blob describes.
[[nodiscard]] Landings visit(std::span<const std::byte> blob, const HandoverOptions& options,
                             base::Clock::time_point deadline);

}  // namespace framewire::transport::peer
