// Each of two processes gives the other the ring that it reads.
#pragma once

#include <transport/shared/local_peer.hpp>
#include <transport/shared/packet_ring.hpp>

namespace framewire::transport::shared {

/// The result: our ring to read, the peer's to write.
struct Rings {
  PacketRingReader incoming;
  PacketRingWriter outgoing;
};

/// @param ours    made by this side, its memory not handed to anybody yet
/// @param theirs  what lies at the beginning of the peer's ring, as has been said over the control
///                connection
/// @return invalid_input for memory that is no ring of this connection, or could fail us while we
///         use it; peer_lost; deadline; busy
[[nodiscard]] Result<Rings> exchange_rings(const LocalPeer& peer, PacketRingReader ours,
                                           const RingKey& theirs, base::Clock::time_point deadline);
/// The same with a ring made now, under the key `ours`.
[[nodiscard]] Result<Rings> exchange_rings(const LocalPeer& peer, const RingKey& ours,
                                           const RingKey& theirs, base::Clock::time_point deadline);

}  // namespace framewire::transport::shared
