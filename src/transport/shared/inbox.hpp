// What a link does with packets that come through a ring: nothing of it is trusted.
#pragma once

#include <transport/link.hpp>
#include <transport/ring.hpp>
#include <transport/shared/packet_ring.hpp>

namespace framewire::transport::shared {

/// The reading end of a ring, and the payloads of which more is to come.
class Inbox {
 public:
  explicit Inbox(PacketRingReader ring) : ring_(std::move(ring)) {}

  /// Hands packets on. @param most  as of PacketRingReader::drain()
  /// @return how many; invalid_input for what no peer of ours sends
  [[nodiscard]] Result<int> drain(int most, LinkSink& sink);
  /// Nothing is handed on any more. May be called by the sink.
  void close() noexcept { closed_ = true; }
  /// Reports the payloads that have not come whole as lost.
  void give_up(LinkSink& sink);

 private:
  /// A payload that has begun.
  struct Begun {
    Placement placement;     ///< from its next byte on
    std::uint64_t left = 0;  ///< bytes
    bool past_caches = false;
  };
  struct Taker;

  PacketRingReader ring_;
  Ring<Begun> begun_;  ///< in the order in which their parts come
  bool closed_ = false;
};

}  // namespace framewire::transport::shared
