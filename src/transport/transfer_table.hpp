// The transfers of one channel, in slots that are used again: no allocation per transfer.
#pragma once

#include <array>
#include <base/clock.hpp>
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

/// One transfer's state. Its memory is pinned until the link no longer touches it, which may be
/// after its user knows the result: then the slot stays taken, its transfer being uncertain.
/// What every transfer touches comes first, to lie in few cache lines.
struct alignas(64) TransferSlot {
  std::uint64_t generation = 0;
  Role role = Role::kOffer;
  Direction direction = Direction::kPut;  ///< of an offer
  bool used = false;                      ///< belongs to a transfer
  bool done = false;                      ///< `result` stands
  bool taken = false;                     ///< and its user has fetched it
  bool in_flight = false;                 ///< the link touches the memory
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
  [[nodiscard]] bool open_offer() const noexcept {
    return used && role == Role::kOffer && !done && !in_flight;
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
  /// Marks the slot's result, a good one or an error.
  void finish(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    slot.done = true;
    if (!slot.in_flight) unpin(slot);
  }
  void finish(std::uint32_t index, Status error);
  /// The link has let go of the memory.
  void settle(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    slot.in_flight = false;
    if (!slot.done) return;
    unpin(slot);
    if (slot.taken) give_back(index);
  }
  /// The user has fetched the result.
  void fetch(std::uint32_t index) noexcept {
    TransferSlot& slot = slots_[index];
    slot.taken = true;
    if (!slot.in_flight) give_back(index);
  }

  [[nodiscard]] TransferSlot& operator[](std::uint32_t index) { return slots_[index]; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// The slot, if the transfer is one of this table's and not fetched yet.
  [[nodiscard]] TransferSlot* find(Transfer transfer) noexcept {
    if (transfer.index >= capacity_) return nullptr;
    TransferSlot& slot = slots_[transfer.index];
    const bool same = slot.used && !slot.taken && slot.generation == transfer.generation;
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
    slot.used = true;
    slot.done = slot.taken = slot.in_flight = slot.checksum = slot.early = false;
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
    slots_[index].used = false;
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
