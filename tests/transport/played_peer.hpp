// The far end of a link, played by hand: packets go out as a test writes them.
#pragma once

#include <tests/transport/connections.hpp>
#include <transport/channel.hpp>

namespace framewire::transport::testing {

/// Keeps what the near end has granted; attach it to the link.
class PlayedPeer : public LinkSink {
 public:
  [[nodiscard]] const Record& granted() const { return granted_; }
  /// What the near end's channel takes the connection for.
  [[nodiscard]] static ChannelConfig config() {
    ChannelConfig config;
    config.epoch = 7;
    config.peer = "somebody";
    config.capacity = config.peer_capacity = 16;
    return config;
  }
  /// A put of so many bytes under the granted lease.
  [[nodiscard]] Packet put(std::uint64_t bytes) const {
    Packet packet;
    packet.kind = PacketKind::kPut;
    packet.epoch = config().epoch;
    packet.request = 1;
    packet.lease = granted_.id;
    packet.length_bytes = bytes;
    return packet;
  }

  Placement on_packet(std::span<const std::byte> head, std::uint64_t) override {
    Packet packet;
    const bool read = decode(head, packet).has_value() && packet.record_count > 0;
    if (read && packet.records[0].kind == RecordKind::kGrant) granted_ = packet.records[0];
    return {};
  }
  void on_received(LinkOp, bool) override {}
  void on_sent(LinkOp, bool) override {}
  void on_lost(const Status&) override {}

 private:
  Record granted_;
};

}  // namespace framewire::transport::testing
