// What carries packets between two channels; one implementation each for loopback, stream and UCX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <framewire/transport/transfer.hpp>
#include <limits>
#include <span>
#include <transport/device.hpp>
#include <transport/packet.hpp>
#include <transport/region.hpp>

namespace framewire::transport {

/// Names one use of memory by a link until the link says that it is over.
using LinkOp = std::uint32_t;
inline constexpr LinkOp kNoOp = std::numeric_limits<LinkOp>::max();

/// Where a payload goes; nowhere (it is dropped) unless `to` is set.
struct Placement {
  std::byte* to = nullptr;  ///< room for exactly the payload
  LinkOp op = kNoOp;
  const DeviceUse* device = nullptr;  ///< set where `to` is device memory
};

/// Where a payload comes from.
struct Payload {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  LinkOp op = kNoOp;
  const DeviceUse* device = nullptr;  ///< set where `data` is device memory
  bool in_parts = false;              ///< the receiver has asked for parts: see Link::in_parts()
};

/// Events that a link reports to its channel, from within Link::send(), progress() and close()
/// only.
class LinkSink {
 public:
  virtual ~LinkSink() = default;
  /// A packet has come. The head is valid during the call.
  [[nodiscard]] virtual Placement on_packet(std::span<const std::byte> head,
                                            std::uint64_t payload_bytes) = 0;
  /// A small put has come, whole. Both are valid during the call; the payload lies where the peer
  /// can still write, so it is read once.
  virtual void on_short(const ShortPut& put, std::span<const std::byte> payload) {
    static_cast<void>(put);
    static_cast<void>(payload);
  }
  /// What is placed can be waited for by the stream that its DeviceUse names: comes before
  /// on_received(), or never.
  virtual void on_enqueued(LinkOp op) { static_cast<void>(op); }
  /// A placement is over: complete, or no longer going to be written.
  virtual void on_received(LinkOp op, bool ok) = 0;
  /// A payload of ours is no longer read; it may not have arrived.
  virtual void on_sent(LinkOp op, bool ok) = 0;
  /// Nothing can be sent or received any more. May come more than once.
  virtual void on_lost(const Status& status) = 0;
};

/// One connection that carries whole packets, each at most once, unaltered, from an authenticated
/// peer. It need not keep their order. One thread at a time.
class Link {
 public:
  virtual ~Link() = default;
  virtual void attach(LinkSink* sink) = 0;
  [[nodiscard]] virtual bool takes(MemoryKind kind) const = 0;
  /// Whether a network card reads and writes memory of that device. carry() and placements may then
  /// name what DeviceMemory::allocate() has made there; users' regions are a matter of takes().
  [[nodiscard]] virtual bool reaches(const DeviceUse& use) const {
    static_cast<void>(use);
    return false;
  }
  /// Whether a packet without payload could be sent now without queueing.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Sends a packet; the head is copied, the payload read until on_sent(op). After an error there
  /// is no on_sent(). @param head at most kMaxPacketHead
  /// @return peer_lost, busy
  [[nodiscard]] virtual Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                                          std::uint64_t payload_bytes, LinkOp op) = 0;
  /// As send(), for payloads that may be device memory. A link that overrides this takes it.
  [[nodiscard]] virtual Result<void> carry(std::span<const std::byte> head,
                                           const Payload& payload) {
    return send(head, payload.data, payload.bytes, payload.op);
  }
  /// Sends a put of at most kMaxShortBytes, and is done with the payload when it returns.
  /// @return false where the link has no such way, or no room: then it takes send()
  [[nodiscard]] virtual bool send_short(const ShortPut& put, std::span<const std::byte> payload) {
    static_cast<void>(put);
    static_cast<void>(payload);
    return false;
  }
  /// Whether payloads for such memory of ours must come in parts; the peer's channel is told.
  [[nodiscard]] virtual bool in_parts(MemoryKind kind) const {
    static_cast<void>(kind);
    return false;
  }
  /// Moves what can be moved without blocking. @return whether anything was
  virtual bool progress() = 0;
  /// Sleeps until progress() may have something to do, or for that long.
  virtual void wait(int timeout_ms) = 0;
  /// As wait(), and not longer than until `wake_fd` can be read. Links that have nothing to poll
  /// look at it every millisecond.
  virtual void wait_or_wake(int timeout_ms, int wake_fd);
  /// Ends the connection by force. Later calls of progress() report the operations still open as
  /// not ok, each as soon as its memory is no longer touched.
  virtual void close() = 0;
  [[nodiscard]] virtual PathReport path() const = 0;
};

}  // namespace framewire::transport
