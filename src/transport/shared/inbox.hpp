// What a link does with packets that come through a ring: nothing of it is trusted.
#pragma once

#include "transport/link.hpp"
#include "transport/shared/packet_ring.hpp"

namespace framewire::transport::shared {

/// The reading end of a ring, and the payload of which more is to come.
class Inbox {
 public:
  explicit Inbox(RingReader ring) : ring_(std::move(ring)) {}
  [[nodiscard]] RingPlace place() const noexcept { return ring_.place(); }

  /// Hands packets on. @param heard, most  as of RingReader::drain()
  /// @return how many; invalid_input for what no peer of ours sends
  [[nodiscard]] Result<int> drain(std::uint16_t heard, int most, LinkSink& sink);
  /// Nothing is handed on any more. May be called by the sink.
  void close() noexcept { closed_ = true; }
  /// Tells the sink that what has not come whole will not come.
  void give_up(LinkSink& sink) {
    if (placement_.to != nullptr) end(sink, false);
  }

 private:
  struct Taker;
  void end(LinkSink& sink, bool ok);

  RingReader ring_;
  Placement placement_;     ///< of the payload that is arriving, from its next byte on
  std::uint64_t left_ = 0;  ///< of it
  bool closed_ = false;
};

}  // namespace framewire::transport::shared
