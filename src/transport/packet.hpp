// What channels say to each other: a short head, and records that ride along.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <transport/lease.hpp>

namespace framewire::transport {

enum class PacketKind : std::uint8_t {
  kPut = 1,     ///< payload for a lease of the receiver's
  kGet = 2,     ///< asks for bytes under a lease of the receiver's
  kServe = 3,   ///< payload that answers a kGet
  kNotice = 4,  ///< records only
  kClose = 5,   ///< the last packet of its sender
};

enum class RecordKind : std::uint8_t {
  kGrant = 1,     ///< a lease for the receiver
  kAck = 2,       ///< requests [first, first + count) ended so
  kWithdraw = 3,  ///< a lease ended unused
};

/// One record; which members count depends on the kind.
struct Record {
  RecordKind kind = RecordKind::kAck;
  Direction direction = Direction::kPut;  ///< grant
  Reason reason = Reason::kNone;          ///< ack, withdraw
  bool in_parts = false;                  ///< grant: send the payload in parts
  std::uint32_t number = 0;               ///< grant: milliseconds to live; ack: count
  std::uint64_t id = 0;                   ///< grant, withdraw: lease; ack: first request
  std::uint64_t length_bytes = 0;         ///< grant
};

/// First bytes from here on belong to packets that links send each other; a channel sees none.
inline constexpr std::uint8_t kLinkKinds = 0x80;

inline constexpr std::size_t kMaxRecords = 32;
inline constexpr std::size_t kMinPacketHead = 7;    ///< a notice without records
inline constexpr std::size_t kMaxRecordBytes = 21;  ///< a grant
inline constexpr std::size_t kMaxPacketHead =
    kMinPacketHead + 5 * sizeof(std::uint64_t) + kMaxRecords * kMaxRecordBytes + 1 + kMaxNoteBytes;

/// What a member does not mean, for this kind of packet or record, is 0 and not sent.
struct Packet {
  PacketKind kind = PacketKind::kNotice;
  bool has_checksum = false;  ///< put, serve: it counts; get: please give one
  bool in_parts = false;      ///< get: send the payload in parts
  std::uint8_t record_count = 0;
  std::uint8_t note_bytes = 0;  ///< put
  std::uint32_t epoch = 0;
  std::uint64_t request = 0;  ///< numbered by who asks, from 1
  std::uint64_t lease = 0;
  std::uint64_t offset_bytes = 0;  ///< in the lease
  std::uint64_t length_bytes = 0;
  std::uint64_t checksum = 0;
  std::array<Record, kMaxRecords> records;
  std::array<std::byte, kMaxNoteBytes> note;
};

/// A small put in a form that needs no reading: its head as it lies in memory that both ends map,
/// with room for the one grant and the one acknowledgement that mostly ride along. As short as this
/// it fits, with a few bytes of payload, into one cache line; another would be fetched when the
/// first has come, and that takes as long again.
struct ShortPut {
  static constexpr std::uint8_t kGrant = 1;    ///< there is a grant,
  static constexpr std::uint8_t kForGet = 2;   ///< for a get,
  static constexpr std::uint8_t kInParts = 4;  ///< with its payload in parts
  std::uint64_t request = 0;
  std::uint64_t lease = 0;
  std::uint64_t grant = 0;
  std::uint64_t ack = 0;  ///< requests [ack, ack + ack_count) have ended well
  std::uint32_t grant_bytes = 0;
  std::uint32_t grant_ms = 0;
  std::uint32_t epoch = 0;
  std::uint16_t ack_count = 0;
  std::uint8_t flags = 0;
  std::uint8_t unused = 0;
};
static_assert(sizeof(ShortPut) == 48);
inline constexpr std::size_t kMaxShortBytes = 8192;

/// Writes the packet's head, records and note, little-endian. Heads are short, because what a small
/// message costs grows with them: a put with a grant and an acknowledgement takes 65 bytes.
/// @return bytes written
std::size_t encode(const Packet& packet, std::span<std::byte, kMaxPacketHead> out) noexcept;

/// Reads what encode() wrote; any bytes are safe. @return false where decode() says why
[[nodiscard]] bool read(std::span<const std::byte> bytes, Packet& packet) noexcept;
/// As read(). @return invalid_input for unknown kinds, wrong lengths, values out of range, or bytes
/// that encode() would have written otherwise
[[nodiscard]] Result<void> decode(std::span<const std::byte> bytes, Packet& packet);

}  // namespace framewire::transport
