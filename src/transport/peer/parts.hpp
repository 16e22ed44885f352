// Payloads from or to device memory travel in parts, each through a slot of the receiver's.
//
// A slot is either staging memory of the receiver's host, filled by the link below, or a stretch of
// a receive buffer: device memory that the receiver keeps for this one connection and the sender
// pushes to. The receiver says when a slot is free again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <framewire/status.hpp>
#include <span>
#include <transport/packet.hpp>

#ifndef FRAMEWIRE_RECEIVE_BUFFER_SLOTS
#define FRAMEWIRE_RECEIVE_BUFFER_SLOTS 8
#endif

namespace framewire::transport::peer {

inline constexpr unsigned kSlots = 16;  ///< of staging memory, at most 32
inline constexpr std::uint64_t kStagedPartBytes = std::uint64_t{512} << 10;
/// Slots of a receive buffer, at most 32: so many payloads are under way at once. In the usual
/// receive buffer each has 16 MiB: between two H200s a copy of 4 MiB has 78 % of the rate of one of
/// 64 MiB, one of 16 MiB 92 %, on one stream or on two by turns.
inline constexpr unsigned kReceiveBufferSlots = FRAMEWIRE_RECEIVE_BUFFER_SLOTS;
/// A message of several parts has none smaller, but for the last.
inline constexpr std::uint64_t kMinPartBytes = 4096;

/// Precedes the head of the packet whose payload is sent in parts. Every part carries both heads,
/// since parts may overtake each other.
struct PartHead {
  bool landed = false;  ///< in the receive buffer; else the link's own payload, to be staged
  bool told = false;    ///< it lands when the slot's word says so: ends in this number
  std::uint32_t number = 0;
  std::uint8_t slot = 0;
  std::uint8_t arrivals = 0;     ///< words in the receive buffer that end in that number, too
  std::uint64_t message = 0;     ///< numbers the sender's payloads
  std::uint64_t total = 0;       ///< bytes of all parts
  std::uint64_t offset = 0;      ///< of this one
  std::uint64_t part_bytes = 0;  ///< of all parts but the last
  std::uint64_t bytes = 0;       ///< of this one
};

/// Slots that have become free, one bit each.
struct FreeSlots {
  std::uint32_t staged = 0;
  std::uint32_t landed = 0;
};

inline constexpr std::size_t kPartHeadBytes = 48;
inline constexpr std::size_t kMaxCarried = kMaxPacketHead - kPartHeadBytes;
using HeadBuffer = std::array<std::byte, kMaxPacketHead>;

/// Writes the head and, behind it, the packet's. @return bytes written
std::size_t encode(const PartHead& head, std::span<const std::byte> packet, HeadBuffer& out);
/// @return bytes written: as many as the shortest packet has
std::size_t encode(const FreeSlots& free, HeadBuffer& out);

/// Whether a head is of this link's packets, and not of the channel's above.
[[nodiscard]] inline bool is_own(std::span<const std::byte> head) {
  return head.size() >= kPartHeadBytes && head[0] >= std::byte{kLinkKinds};
}
[[nodiscard]] bool is_part(std::span<const std::byte> head);
[[nodiscard]] bool is_free(std::span<const std::byte> head);
/// Reads what encode() wrote, without the packet behind it; any bytes are safe.
/// @return invalid_input for parts that make no message
[[nodiscard]] Result<PartHead> decode_part(std::span<const std::byte> head);
[[nodiscard]] FreeSlots decode_free(std::span<const std::byte> head);

}  // namespace framewire::transport::peer
