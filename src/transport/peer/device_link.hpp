// A link that takes device memory, built on a link that does not.
#pragma once

#include <memory>
#include <string>
#include <transport/link.hpp>
#include <transport/peer/receive_buffer.hpp>

namespace framewire::transport::peer {

/// What two processes of one machine have handed each other, to push to; each may be missing.
struct ReceiveBuffers {
  std::unique_ptr<ReceiveBuffer> ours;
  std::unique_ptr<ReceiveBuffer> theirs;
  Reach reach = Reach::kNone;  ///< from our device to theirs
  std::string why;             ///< there is none to push to
};

/// Packets of host memory pass as they are. Payloads from or to device memory travel in parts:
/// pushed to the peer's receive buffer where there is one and the payload lies on the device that
/// reaches it; through device memory of this link's own at an end whose link below reaches the
/// payload's device; else staged through pinned host memory, copies and sending overlapped. Both
/// ends must be such links; each decides for itself.
[[nodiscard]] std::unique_ptr<Link> make_device_link(std::unique_ptr<Link> inner,
                                                     ReceiveBuffers buffers = {});

}  // namespace framewire::transport::peer
