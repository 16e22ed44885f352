// Sends payloads in parts.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <transport/link.hpp>
#include <transport/peer/parts.hpp>
#include <transport/peer/queues.hpp>
#include <transport/peer/receive_buffer.hpp>

namespace framewire::transport::peer {

/// Copies each part to where it can be sent from, or pushes it to the peer's receive buffer, and
/// sends it, as far as the receiver has free slots. One thread at a time.
class Sender {
 public:
  /// @param inner  carries the parts; its operations are named first_op + slot
  /// @param theirs  the peer's receive buffer, or null
  Sender(Link& inner, LinkOp first_op, ReceiveBuffer* theirs);

  void add(std::span<const std::byte> head, const Payload& payload);
  /// Begins parts that have a free slot, and sends those that have been copied.
  /// @return whether anything moved; device_lost, peer_lost
  [[nodiscard]] Result<bool> pump();
  /// The next payload that is no longer read.
  struct Over {
    LinkOp op;
    bool ok;
  };
  [[nodiscard]] std::optional<Over> take_over();

  void on_sent(unsigned slot, bool ok);
  /// @return invalid_input for slots that are not in use
  [[nodiscard]] Result<void> on_free(const FreeSlots& free);
  /// Begins nothing more; copies under way end by themselves.
  void close();
  /// As close(), and waits for those copies.
  void close_and_wait();

  /// Whether there is nothing to pump or to take over.
  [[nodiscard]] bool idle() const { return copying_ == 0 && messages_.empty(); }
  /// Whether progress comes without anything from the peer.
  [[nodiscard]] bool busy() const { return copying_ > 0 || waiting(); }
  [[nodiscard]] std::uint64_t staged_bytes() const { return staged_bytes_; }
  [[nodiscard]] std::uint64_t pushed_bytes() const { return pushed_bytes_; }

 private:
  struct Message {
    std::array<std::byte, kMaxCarried> head;
    std::size_t head_bytes = 0;
    Payload payload;
    std::uint64_t number = 0;
    std::uint64_t part_bytes = 0;
    std::uint64_t given = 0;  ///< to slots
    std::uint64_t over = 0;   ///< no longer read
    bool landed = false;
    bool ok = true;
  };
  /// A slot of the receiver's, and what is under way through it. The copy queue, the link below and
  /// the peer hold it for a part, and let go of it in any order.
  struct Slot {
    Message* message = nullptr;  ///< while its memory is read
    PartHead head;
    CopyQueue* queue = nullptr;  ///< while it copies
    Ticket ticket = 0;
    bool with_inner = false;  ///< the link below reads what it sends
    bool with_peer = false;   ///< the peer has not said that the slot is free again
    Pinned pinned;
    CardSlot card;
    std::byte* staged = nullptr;         ///< where it was copied to; null in a receive buffer
    const DeviceUse* on_card = nullptr;  ///< where that is device memory
    [[nodiscard]] bool free() const { return queue == nullptr && !with_inner && !with_peer; }
  };

  [[nodiscard]] bool waiting() const;
  [[nodiscard]] bool lands(const Payload& payload) const;
  [[nodiscard]] std::uint64_t landed_part_bytes(std::uint64_t total) const;
  [[nodiscard]] std::optional<unsigned> free_slot(bool landed) const;
  [[nodiscard]] Result<void> begin_part(Message& message, unsigned index);
  [[nodiscard]] Result<void> enqueue(Message& message, unsigned index);
  [[nodiscard]] Result<std::byte*> stage(Slot& slot, const DeviceUse& use);
  [[nodiscard]] Result<void> dispatch(unsigned index, bool landed, const std::byte* payload);
  [[nodiscard]] Result<bool> look_at(bool landed);
  void read(Slot& slot, bool ok);

  Link& inner_;
  LinkOp first_op_;
  ReceiveBuffer* theirs_;
  std::list<Message> messages_;
  std::list<Message> spare_;                   ///< used again: no allocation a message
  std::array<std::array<Slot, 32>, 2> slots_;  ///< staged, landed
  Queues queues_;
  std::uint64_t next_number_ = 1;
  std::uint64_t staged_bytes_ = 0;
  std::uint64_t pushed_bytes_ = 0;
  unsigned copying_ = 0;
  bool closed_ = false;
};

}  // namespace framewire::transport::peer
