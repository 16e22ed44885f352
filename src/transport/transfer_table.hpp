// The transfers of one channel, in slots that are used again: no allocation per transfer.
#pragma once

#include <array>
#include <base/clock.hpp>
#include <cassert>
#include <cstdint>
#include <optional>
#include <transport/lease.hpp>
#include <transport/region.hpp>
#include <utility>
#include <vector>

namespace framewire::transport {

enum class Role : std::uint8_t {
  kOffer,  ///< ours, for the peer to use once
  kPut,    ///< our write into a lease of the peer's
  kGet,    ///< our read from one
};

/// How far a slot's transfer is. Two ends come in either order: the result, which its user fetches,
/// and the link's letting go of the memory. Those with a result come last.
enum class TransferState : std::uint8_t {
  kFree,       ///< the slot belongs to no transfer
  kOpen,       ///< no result, and the link does not touch the memory: not yet, or no longer
  kMoving,     ///< no result, and the link touches the memory
  kUncertain,  ///< the result stands, and the link still touches the memory
  kAbandoned,  ///< the same, and the user has taken the result
  kDone,       ///< the result stands, and the memory is let go
};

/// Whether a slot may go from one state to the other.
[[nodiscard]] constexpr bool may_follow(TransferState from, TransferState to) noexcept {
  switch (from) {
    case TransferState::kFree:
      return to == TransferState::kOpen;
    case TransferState::kOpen:
      return to == TransferState::kMoving || to == TransferState::kDone;
    case TransferState::kMoving:
      return to == TransferState::kOpen || to == TransferState::kUncertain;
    case TransferState::kUncertain:
      return to == TransferState::kDone || to == TransferState::kAbandoned;
    case TransferState::kAbandoned:
    case TransferState::kDone:
      return to == TransferState::kFree;
  }
  return false;
}

/// One transfer. Its memory is pinned until the link no longer touches it, which may be after its
/// user knows the result. What every transfer touches comes first, to lie in few cache lines.
struct alignas(64) TransferSlot {
  std::uint64_t generation = 0;
  Role role = Role::kOffer;
  Direction direction = Direction::kPut;       ///< of an offer
  TransferState state = TransferState::kFree;  ///< go_to() changes it
  bool checksum = false;
  bool early = false;  ///< done for its user, whose stream waits; the peer has not been told
  Reason ended = Reason::kNone;  ///< an offer's; outlives the transfer, for late users of its lease
  std::uint8_t note_bytes = 0;
  std::uint32_t work_ms = 0;       ///< an offer's: allowance once the peer has begun
  Region::Block* block = nullptr;  ///< held by its own account of parts, until the memory is let go
  std::uint64_t offset_bytes = 0;  ///< in the region
  std::uint64_t length_bytes = 0;
  std::uint64_t lease = 0;
  std::uint64_t request = 0;  ///< of who asked
  base::Clock::time_point deadline;
  Completion completion;
  std::uint64_t expected_checksum = 0;
  DeviceUse device;  ///< of a region that is device memory
  std::optional<Status> error;
  std::array<std::byte, kMaxNoteBytes> note;  ///< what a put has brought along to an offer

  [[nodiscard]] std::byte* memory() const noexcept { return block->base + offset_bytes; }
  [[nodiscard]] Region region() const { return block != nullptr ? block->pins.owner() : Region(); }
  [[nodiscard]] bool writes() const noexcept {
    return role == Role::kGet || (role == Role::kOffer && direction == Direction::kPut);
  }
  /// Whether its user may have the result.
  [[nodiscard]] bool done() const noexcept { return state >= TransferState::kUncertain; }
  /// Whether it belongs to a transfer that has no result yet.
  [[nodiscard]] bool under_way() const noexcept {
    return state == TransferState::kOpen || state == TransferState::kMoving;
  }
  [[nodiscard]] bool moving() const noexcept { return state == TransferState::kMoving; }
  [[nodiscard]] bool open_offer() const noexcept {
    return state == TransferState::kOpen && role == Role::kOffer;
  }
  void go_to(TransferState next) noexcept {
    assert(may_follow(state, next));
    state = next;
  }
};

/// What a transfer is made from; for the call that it is handed to.
struct TransferMemory {
  const Region& region;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};

class TransferTable {
 public:
  explicit TransferTable(std::uint32_t capacity);
  TransferTable(const TransferTable&) = delete;
  TransferTable& operator=(const TransferTable&) = delete;
  /// Lets go of what is still held: nothing touches it any more.
  ~TransferTable() {
    for (TransferSlot& slot : slots_) unpin(slot);
  }

  /// Takes a slot and pins its memory.
  /// @return nothing where refusal() says why
  [[nodiscard]] std::optional<std::uint32_t> take(Role role, Direction direction,
                                                  const TransferMemory& memory) {
    Region::Block* const block = memory.region.block();
    if (free_.empty() || !inside(memory)) return std::nullopt;
    const bool writes =
        role == Role::kGet || (role == Role::kOffer && direction == Direction::kPut);
    if (block != nullptr &&
        !block->pins.hold(memory.offset_bytes, memory.length_bytes, writes, memory.region)) {
      return std::nullopt;
    }
    return fill(role, direction, block, memory);
  }
  /// The same for a put whose bytes have been copied by now: nothing of the memory is kept.
  /// @param memory  as had by may_read()
  [[nodiscard]] std::uint32_t take_copied(const TransferMemory& memory) {
    return fill(Role::kPut, Direction::kPut, nullptr, memory);
  }
  /// Whether there is a slot for what reads that memory now, and none that writes to it.
  [[nodiscard]] bool may_read(const TransferMemory& memory) const {
    return !free_.empty() && memory.region.block() != nullptr && inside(memory) &&
           memory.region.block()->pins.unwritten(memory.offset_bytes, memory.length_bytes);
  }
  /// Why take() has just taken nothing: invalid_input for memory outside the region; busy where all
  /// slots are taken, or the memory belongs to a transfer that has not settled.
  [[nodiscard]] Status refusal(const TransferMemory& memory) const;
  /// The link touches the memory from here on.
  void begin_moving(std::uint32_t index) noexcept { slots_[index].go_to(TransferState::kMoving); }
  /// Marks the slot's result, a good one or an error.
  void set_result(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    if (slot.moving()) return slot.go_to(TransferState::kUncertain);
    slot.go_to(TransferState::kDone);
    unpin(slot);
  }
  void set_result(std::uint32_t index, Status error);
  /// The link has let go of the memory. Says nothing new of slots whose memory it did not touch.
  void settle(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    if (slot.moving()) return slot.go_to(TransferState::kOpen);
    if (slot.state == TransferState::kUncertain) slot.go_to(TransferState::kDone);
    if (slot.state == TransferState::kAbandoned) give_back(index);
    if (slot.state != TransferState::kOpen) unpin(slot);
  }
  /// The user has taken the result. What the slot says stays until it is used again.
  void release(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    if (slot.state == TransferState::kUncertain) return slot.go_to(TransferState::kAbandoned);
    give_back(index);
  }

  [[nodiscard]] TransferSlot& operator[](std::uint32_t index) { return slots_[index]; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// The slot, if the transfer is one of this table's and its result is not taken yet.
  [[nodiscard]] TransferSlot* find(Transfer transfer) noexcept {
    if (transfer.index >= capacity_) return nullptr;
    TransferSlot& slot = slots_[transfer.index];
    const bool taken =
        slot.state == TransferState::kFree || slot.state == TransferState::kAbandoned;
    const bool same = !taken && slot.generation == transfer.generation;
    return same ? &slot : nullptr;
  }
  /// Slots whose memory the link still touches though their result stands.
  [[nodiscard]] std::uint32_t uncertain() const noexcept;

 private:
  [[nodiscard]] static bool inside(const TransferMemory& memory) noexcept {
    const Region::Block* const block = memory.region.block();
    const std::uint64_t size = block != nullptr ? block->bytes : 0;
    return memory.offset_bytes <= size && memory.length_bytes <= size - memory.offset_bytes;
  }
  [[nodiscard]] std::uint32_t fill(Role role, Direction direction, Region::Block* block,
                                   const TransferMemory& memory) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    TransferSlot& slot = slots_[index];
    ++slot.generation;
    slot.role = role;
    slot.direction = direction;
    slot.go_to(TransferState::kOpen);
    slot.checksum = slot.early = false;
    slot.ended = Reason::kNone;
    slot.note_bytes = 0;
    slot.block = block;
    slot.offset_bytes = memory.offset_bytes;
    slot.length_bytes = memory.length_bytes;
    if (slot.error) slot.error.reset();
    return index;
  }
  static void unpin(TransferSlot& slot) noexcept {
    if (slot.block != nullptr) {
      std::exchange(slot.block, nullptr)
          ->pins.release(slot.offset_bytes, slot.length_bytes, slot.writes());
    }
    if (slot.device.devices != nullptr) slot.device = {};
  }
  void give_back(std::uint32_t index) noexcept {
    slots_[index].go_to(TransferState::kFree);
    free_.push_back(index);  // never grows: reserved for all
  }

  std::uint32_t capacity_;
  std::vector<TransferSlot> slots_;
  std::vector<std::uint32_t> free_;
};

/// A lease's name from its slot, and back: the generation makes it single.
[[nodiscard]] constexpr std::uint64_t lease_id(std::uint32_t index,
                                               std::uint64_t generation) noexcept {
  return generation << 16 | index;
}
[[nodiscard]] constexpr std::uint32_t lease_index(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id & 0xffff);
}
[[nodiscard]] constexpr std::uint64_t lease_generation(std::uint64_t id) noexcept {
  return id >> 16;
}

}  // namespace framewire::transport
