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
  Region region;
  DeviceUse device;                ///< of a region that is device memory
  std::uint64_t offset_bytes = 0;  ///< in the region
  std::uint64_t length_bytes = 0;
  std::uint64_t lease = 0;
  std::uint64_t request = 0;  ///< of who asked
  std::uint64_t expected_checksum = 0;
  Completion completion;
  base::Clock::time_point deadline;
  std::uint8_t note_bytes = 0;
  std::array<std::byte, kMaxNoteBytes> note;  ///< what a put has brought along to an offer
  std::uint32_t work_ms = 0;                  ///< an offer's: allowance once the peer has begun
  std::optional<Status> error;

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

  /// Takes a slot and pins its memory.
  /// @return invalid_input for memory outside the region; busy where all slots are taken, or the
  ///         memory belongs to a transfer that has not settled
  [[nodiscard]] Result<std::uint32_t> take(Role role, Direction direction,
                                           const TransferMemory& memory);
  /// Marks the slot's result, and gives it back if nobody waits for more.
  void finish(std::uint32_t index, std::optional<Status> error);
  /// The link has let go of the memory.
  void settle(std::uint32_t index);
  /// The user has fetched the result.
  void fetch(std::uint32_t index);

  [[nodiscard]] TransferSlot& operator[](std::uint32_t index) { return slots_[index]; }
  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }
  /// The slot, if the transfer is one of this table's and not fetched yet.
  [[nodiscard]] TransferSlot* find(Transfer transfer) noexcept;
  /// Slots whose memory the link still touches though their result stands.
  [[nodiscard]] std::uint32_t uncertain() const noexcept;

 private:
  void unpin(TransferSlot& slot) noexcept;
  void give_back(std::uint32_t index) noexcept;

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
