// Packets from one process to another through memory that both map: one that writes, one that
// reads. No system call, no copy but into the memory and out of it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <cstring>
#include <span>
#include <transport/bytes.hpp>
#include <transport/packet.hpp>
#include <transport/shared/bulk_copy.hpp>
#include <transport/shared/sealed_memory.hpp>

namespace framewire::transport::shared {

/// Both ends know it; it comes over the control connection, and lies at the ring's beginning.
using RingKey = std::array<std::byte, 16>;

/// Slots one after the other, each with a word that says which packet it holds, and with a body for
/// payloads that do not fit beside the head. Those words lie where no payload ever does.
///
/// A payload of more than a body comes in parts: the first with the packet's head, which says how
/// many bytes there will be, the others behind it in slots of their own. Whole packets may come
/// between them, and heads of further such payloads: parts always belong to the first payload that
/// is not complete.
struct RingLayout {
  static constexpr std::uint64_t kSlots = 128;
  /// No power of two: with 256, what a processor fetches ahead it takes from who is writing there,
  /// and streams of up to 1 KiB are a tenth to a fourth slower.
  static constexpr std::size_t kSlotBytes = 1152;
  static constexpr std::size_t kBesideBytes = kSlotBytes - sizeof(std::uint64_t);
  static constexpr std::size_t kMaxHead = kBesideBytes - sizeof(std::uint64_t);
  static constexpr std::size_t kBodyBytes = kMaxShortBytes;
  /// Payloads that have begun and are not complete.
  static constexpr std::size_t kMaxBegun = 64;

  // In place of a head's bytes.
  static constexpr std::size_t kShort = 0;      ///< the packet is a ShortPut
  static constexpr std::size_t kMore = 1;       ///< a further part of the first incomplete payload
  static constexpr std::size_t kLong = 0x8000;  ///< beside those of one that more follows: behind
                                                ///< the head lies how many bytes there will be

  struct alignas(64) Slot {
    /// The packet's number, from 1 | head's bytes << 32 | payload's << 48.
    std::atomic<std::uint64_t> word;
    std::array<std::byte, kBesideBytes> beside;
  };
  static_assert(sizeof(Slot) == kSlotBytes && std::atomic<std::uint64_t>::is_always_lock_free);

  static constexpr std::array<char, 16> kMagic{"framewire ring2"};
  std::array<char, 16> magic;
  RingKey key;
  alignas(64) std::atomic<std::uint64_t> taken;  ///< packets that the reader is done with
  alignas(64) std::array<Slot, kSlots> slots;
  alignas(64) std::array<std::array<std::byte, kBodyBytes>, kSlots> bodies;
};

/// The end that reads, which has made the memory. It believes nothing that it finds there: sizes
/// are read once and checked, heads copied before they are looked at.
class PacketRingReader {
 public:
  /// @return busy
  [[nodiscard]] static Result<PacketRingReader> make(const RingKey& key);
  /// The memory, to be handed to the peer.
  [[nodiscard]] int fd() const noexcept { return memory_.fd(); }
  /// Once it has been handed over.
  void close_file() noexcept { memory_.close_file(); }

  /// Hands packets that have come to a taker, which copies what it wants:
  /// `take(head, payload, total)`, where payload is all or the first part of it, `take_more(part)`
  /// for further ones, and `take_short(put, payload)`.
  /// @param most  packets and parts
  /// @return how many; -1 for sizes that cannot be
  template <typename Taker>
  int drain(int most, Taker& taker) {
    int count = 0;
    for (; count < most; ++count) {
      const RingLayout::Slot& slot = ring_->slots[taken_ % RingLayout::kSlots];
      const std::uint64_t word = slot.word.load(std::memory_order_acquire);
      if (static_cast<std::uint32_t>(word) != static_cast<std::uint32_t>(taken_ + 1)) break;
      const std::size_t kind = word >> 32 & 0xffffU;
      const std::size_t payload = word >> 48;
      if (payload > RingLayout::kBodyBytes) return -1;
      if (kind == RingLayout::kShort) {
        const std::byte* const from = place(slot, sizeof(ShortPut), payload);
        __builtin_prefetch(from + 64);
        ShortPut put;
        std::memcpy(&put, slot.beside.data(), sizeof put);
        taker.take_short(put, {from, payload});
      } else if (kind == RingLayout::kMore) {
        taker.take_more({body(), payload});
      } else {
        const bool is_long = (kind & RingLayout::kLong) != 0;
        const std::size_t head = kind & ~RingLayout::kLong;
        if (head < kMinPacketHead || head > RingLayout::kMaxHead) return -1;
        std::memcpy(head_.data(), slot.beside.data(), head + sizeof(std::uint64_t));
        const std::span<const std::byte> bytes(head_);
        if (is_long) {
          const auto total = load<std::uint64_t>(head_.data() + head);
          taker.take(bytes.first(head), {body(), payload}, total);
        } else {
          taker.take(bytes.first(head), {place(slot, head, payload), payload}, payload);
        }
      }
      // Told late: who writes looks only once the ring seems full.
      if (++taken_ % (RingLayout::kSlots / 4) == 0) {
        ring_->taken.store(taken_, std::memory_order_release);
      }
    }
    return count;
  }

 private:
  PacketRingReader() = default;
  [[nodiscard]] const std::byte* place(const RingLayout::Slot& slot, std::size_t head,
                                       std::size_t payload) const noexcept {
    return payload <= RingLayout::kBesideBytes - head ? slot.beside.data() + head : body();
  }
  [[nodiscard]] const std::byte* body() const noexcept {
    return ring_->bodies[taken_ % RingLayout::kSlots].data();
  }

  SealedMemory memory_;
  RingLayout* ring_ = nullptr;
  std::uint64_t taken_ = 0;
  std::array<std::byte, RingLayout::kBesideBytes> head_;
};

/// The end that writes, into memory of the peer's.
class PacketRingWriter {
 public:
  /// @param file  as the peer has handed it over: may be anything; not kept
  /// @param key   what must lie there
  /// @return invalid_input for what is no such ring; busy
  [[nodiscard]] static Result<PacketRingWriter> open(const base::FileDescriptor& file,
                                                     const RingKey& key);

  /// Copies a whole packet into the ring. @return false where it is full, or the packet too large
  [[nodiscard]] bool add(std::span<const std::byte> head,
                         std::span<const std::byte> payload) noexcept {
    if (head.size() > RingLayout::kMaxHead || payload.size() > RingLayout::kBodyBytes ||
        !has_room(1)) {
      return false;
    }
    write(head, head.size(), payload, payload.size() > RingLayout::kBesideBytes - head.size());
    return true;
  }
  /// The same for a short put.
  [[nodiscard]] bool add(const ShortPut& put, std::span<const std::byte> payload) noexcept {
    if (payload.size() > RingLayout::kBodyBytes || !has_room(1)) return false;
    write(std::as_bytes(std::span(&put, 1)), RingLayout::kShort, payload,
          payload.size() > RingLayout::kBesideBytes - sizeof put);
    return true;
  }
  /// Writes a head and the first kBodyBytes of a payload of more. The caller keeps to kMaxBegun.
  [[nodiscard]] bool begin(std::span<const std::byte> head,
                           std::span<const std::byte> payload) noexcept {
    if (head.size() > RingLayout::kMaxHead || !has_room(1)) return false;
    std::array<std::byte, RingLayout::kBesideBytes> start;
    std::memcpy(start.data(), head.data(), head.size());
    store(start.data() + head.size(), std::uint64_t{payload.size()});
    write(std::span(start).first(head.size() + sizeof(std::uint64_t)),
          head.size() | RingLayout::kLong, payload.first(RingLayout::kBodyBytes), true);
    return true;
  }
  /// Writes a further part of the first payload that has begun and is not complete.
  /// @param spare        slots that are left to others
  /// @param past_caches  @see WayOfCopying
  [[nodiscard]] bool add_part(std::span<const std::byte> part, std::uint64_t spare,
                              bool past_caches = false) noexcept {
    if (!has_room(1 + spare)) return false;
    write({}, RingLayout::kMore, part, true, past_caches);
    return true;
  }

 private:
  PacketRingWriter() = default;
  [[nodiscard]] bool has_room(std::uint64_t slots) noexcept {
    if (written_ - seen_taken_ + slots <= RingLayout::kSlots) return true;
    seen_taken_ = ring_->taken.load(std::memory_order_acquire);
    return written_ - seen_taken_ + slots <= RingLayout::kSlots;
  }
  void write(std::span<const std::byte> beside, std::size_t kind,
             std::span<const std::byte> payload, bool in_body, bool past_caches = false) noexcept {
    RingLayout::Slot& slot = ring_->slots[written_ % RingLayout::kSlots];
    if (!beside.empty()) std::memcpy(slot.beside.data(), beside.data(), beside.size());
    std::byte* const to = in_body ? ring_->bodies[written_ % RingLayout::kSlots].data()
                                  : slot.beside.data() + beside.size();
    if (past_caches) {
      copy_past_caches(to, payload.data(), payload.size());
    } else if (!payload.empty()) {
      std::memcpy(to, payload.data(), payload.size());
    }
    slot.word.store((++written_ & 0xffffffffU) | std::uint64_t{kind} << 32 |
                        std::uint64_t{payload.size()} << 48,
                    std::memory_order_release);
  }

  SealedMemory memory_;
  RingLayout* ring_ = nullptr;
  std::uint64_t written_ = 0;
  std::uint64_t seen_taken_ = 0;
};

}  // namespace framewire::transport::shared
