// The transfers of one channel, in slots that are used again: no allocation per transfer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>
#include "base/clock.hpp"
#include "transport/lease.hpp"
#include "transport/region.hpp"

namespace framewire::transport {

enum class Role : std::uint8_t {
  kOffer,  ///< ours, for the peer to use once
  kPut,    ///< our write into a lease of the peer's
  kGet,    ///< our read from one
};

/// One transfer's state. Its memory is pinned until the link no longer touches it, which may be
/// after its user knows the result: then the slot stays taken, its transfer being uncertain.
/// What every transfer touches comes first, to lie in few cache lines.
struct TransferSlot {
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
  /// @return invalid_input for memory outside the region; busy where all slots are taken, or the
  ///         memory belongs to a transfer that has not settled
  [[nodiscard]] Result<std::uint32_t> take(Role role, Direction direction,
                                           const TransferMemory& memory);
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
  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }
  /// The slot, if the transfer is one of this table's and not fetched yet.
  [[nodiscard]] TransferSlot* find(Transfer transfer) noexcept {
    if (transfer.index >= slots_.size()) return nullptr;
    TransferSlot& slot = slots_[transfer.index];
    const bool same = slot.used && !slot.taken && slot.generation == transfer.generation;
    return same ? &slot : nullptr;
  }
  /// Slots whose memory the link still touches though their result stands.
  [[nodiscard]] std::uint32_t uncertain() const noexcept;

 private:
  [[nodiscard]] tl::unexpected<Status> refuse(const TransferMemory& memory) const;
  static void unpin(TransferSlot& slot) noexcept;
  void give_back(std::uint32_t index) noexcept {
    slots_[index].used = false;
    free_.push_back(index);  // never grows: reserved for all
  }

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
