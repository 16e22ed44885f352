// Receives payloads in parts.
#pragma once

#include <array>
#include <bit>
#include <list>
#include <optional>
#include <transport/link.hpp>
#include <transport/peer/parts.hpp>
#include <transport/peer/queues.hpp>
#include <transport/peer/receive_buffer.hpp>
#include <vector>

namespace framewire::transport::peer {

/// Puts parts together where the owner of the memory says, and tells which slots are free again.
/// Nothing that comes is trusted. One thread at a time.
class Receiver {
 public:
  /// @param inner  brings the parts; its placements are named first_op + slot
  /// @param ours  our receive buffer, or null
  Receiver(const Link& inner, LinkOp first_op, ReceiveBuffer* ours);

  /// Takes the head of a part. @return where the link below shall put its payload; invalid_input
  /// for parts that no honest peer sends
  [[nodiscard]] Result<Placement> on_part(std::span<const std::byte> head,
                                          std::uint64_t payload_bytes, LinkSink& sink);
  /// The link below has put a part's payload in place, or has given it up.
  void on_received(unsigned slot, bool ok);
  /// Begins copies that can begin, and collects those that are complete.
  /// @return whether anything moved; device_lost
  [[nodiscard]] Result<bool> pump(LinkSink& sink);
  /// The next payload that is in place, or will never be.
  struct Over {
    LinkOp op;
    bool ok;
  };
  [[nodiscard]] std::optional<Over> take_over();
  /// Slots that have become free since the last call.
  [[nodiscard]] FreeSlots take_free();
  /// Whether the peer may soon have none left.
  [[nodiscard]] bool many_free() const {
    return std::popcount(free_.staged) >= 4 || std::popcount(free_.landed) >= 2;
  }

  /// Begins nothing more; copies under way end by themselves.
  void close();
  /// As close(), and waits for those copies.
  void close_and_wait();

  /// Whether there is nothing to pump, to take over or to free.
  [[nodiscard]] bool idle() const {
    return used_ == 0 && messages_.empty() && free_.staged == 0 && free_.landed == 0;
  }
  /// Whether progress comes without anything from the peer.
  [[nodiscard]] bool busy() const { return copying_ > 0 || waiting(); }
  [[nodiscard]] std::uint64_t staged_bytes() const { return staged_bytes_; }

 private:
  struct Message {
    PartHead first;
    Placement to;
    std::uint64_t left = 0;      ///< bytes that are not in place
    std::uint64_t unqueued = 0;  ///< bytes that no copy or link is bringing there yet
    unsigned in_slots = 0;
    bool ok = true;
    std::vector<bool> seen;  ///< parts
  };
  enum class State : std::uint8_t { kFree, kFilling, kArriving, kFilled, kCopying };
  struct Slot {
    State state = State::kFree;
    Message* message = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;  ///< of a part that is arriving
    unsigned arrivals = 0;     ///< words of the receive buffer by which the device may wait for it
    CopyQueue* queue = nullptr;
    Ticket ticket = 0;
    const std::byte* from = nullptr;  ///< what is copied; null where the link has put it in place
    bool by_card = false;             ///< a network card writes it, to device memory
    Pinned pinned;
    CardSlot card;
  };

  [[nodiscard]] bool waiting() const;
  [[nodiscard]] Result<Message*> message_of(const PartHead& part, std::span<const std::byte> packet,
                                            LinkSink& sink);
  [[nodiscard]] static Result<void> take_part(Message& message, const PartHead& part);
  [[nodiscard]] Result<Placement> stage(Slot& slot, const PartHead& part);
  [[nodiscard]] Result<void> enqueue(Slot& slot, bool landed, LinkSink& sink);
  [[nodiscard]] Result<void> enqueue_ahead(unsigned index);
  void begin(Slot& slot, CopyQueue& queue, Ticket ticket);
  void end_copy(bool landed, unsigned index);
  [[nodiscard]] Result<CopyQueue*> prepare(const Slot& slot, bool landed);
  [[nodiscard]] Sides sides_of_copy(const Slot& slot, bool landed) const;
  [[nodiscard]] bool has_landed(unsigned index) const;
  void end_part(bool landed, unsigned index, bool ok);
  [[nodiscard]] Slot& slot(bool landed, unsigned index) { return slots_[landed ? 1 : 0][index]; }

  const Link& inner_;
  LinkOp first_op_;
  ReceiveBuffer* ours_;
  std::list<Message> messages_;
  std::list<Message> spare_;
  std::array<std::array<Slot, 32>, 2> slots_;  ///< staged, landed
  unsigned used_ = 0;
  Queues queues_;
  FreeSlots free_;
  std::uint64_t staged_bytes_ = 0;
  unsigned copying_ = 0;
  unsigned not_awaited_ = 0;  ///< how many of the next parts the device does not wait for
  bool closed_ = false;
};

}  // namespace framewire::transport::peer
