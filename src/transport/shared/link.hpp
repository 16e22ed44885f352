// Packets and payloads of every size between two processes, through memory that both map.
#pragma once

#include <memory>
#include <transport/lifeline.hpp>
#include <transport/link.hpp>
#include <transport/shared/packet_ring.hpp>

namespace framewire::transport::shared {

/// @param incoming  memory of ours that the peer writes
/// @param outgoing  memory of the peer's that we write
/// @param lifeline  whose end is the peer's
[[nodiscard]] std::unique_ptr<Link> make_shared_link(PacketRingReader incoming,
                                                     PacketRingWriter outgoing,
                                                     std::unique_ptr<Lifeline> lifeline);

}  // namespace framewire::transport::shared
