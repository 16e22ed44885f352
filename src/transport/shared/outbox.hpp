// Packets on their way into a ring, and payloads of which a part is in it.
#pragma once

#include <array>
#include <base/clock.hpp>
#include <deque>
#include <transport/link.hpp>
#include <transport/ring.hpp>
#include <transport/shared/packet_ring.hpp>
#include <transport/shared/way_of_copying.hpp>

namespace framewire::transport::shared {

/// The writing end of a ring, and what waits for room there. Heads go in the order in which they
/// were added, but for notices, which go before others that wait; the rest of long payloads follows
/// as room comes, one payload after the other.
class Outbox {
 public:
  explicit Outbox(PacketRingWriter ring) : ring_(std::move(ring)) {}

  /// Takes a packet; tells the sink at once where it is done with the payload.
  void add(std::span<const std::byte> head, std::span<const std::byte> payload, LinkOp op,
           LinkSink* sink);
  /// @return false where there is no room, or others wait
  [[nodiscard]] bool add(const ShortPut& put, std::span<const std::byte> payload) {
    return waiting_ == 0 && ring_.add(put, payload);
  }
  /// Packets that wait for room.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  [[nodiscard]] bool empty() const { return waiting_ == 0 && begun_.empty(); }
  /// Writes what there is room for. @param most  parts @return whether anything was written
  bool feed(int most, LinkSink* sink);
  /// Nothing is written any more. May be called by the sink.
  void close() noexcept { closed_ = true; }
  /// After close(): tells the sink that what has not gone will not go.
  void give_up(LinkSink& sink);

 private:
  struct Packet {
    std::array<std::byte, kMaxPacketHead> head;
    std::size_t head_bytes;
    std::span<const std::byte> payload;
    LinkOp op;
  };
  /// A payload whose head is in the ring.
  struct Begun {
    std::span<const std::byte> left;
    LinkOp op = kNoOp;
    std::uint64_t parts = 0;          ///< in all, but for the first
    std::uint64_t timed = 0;          ///< of them, since start
    base::Clock::time_point start{};  ///< of the block of parts that is being timed
  };
  bool write(std::span<const std::byte> head, std::span<const std::byte> payload, LinkOp op,
             LinkSink* sink);

  void feed(std::deque<Packet>& packets, LinkSink* sink, bool& moved);

  PacketRingWriter ring_;
  std::deque<Packet> notices_;
  std::deque<Packet> packets_;  ///< others
  std::size_t waiting_ = 0;     ///< of both
  Ring<Begun> begun_;
  std::array<WayOfCopying, 2> ways_;  ///< of payloads that fit into the ring, and of longer ones
  bool closed_ = false;
};

}  // namespace framewire::transport::shared
