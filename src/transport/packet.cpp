#include <fmt/format.h>
#include <algorithm>
#include <transport/bytes.hpp>
#include <transport/packet.hpp>
#include <utility>

namespace framewire::transport {
namespace {

// Flags of a packet. The last three say that something is there.
constexpr std::uint8_t kChecksumFlag = 1;
constexpr std::uint8_t kPartsFlag = 2;
constexpr std::uint8_t kOffsetFlag = 4;
constexpr std::uint8_t kSumFlag = 8;
constexpr std::uint8_t kNoteFlag = 16;
constexpr std::uint8_t kAllFlags = 31;

// A record's first byte: kind, and above it direction, parts and reason.
constexpr unsigned kDirectionBit = 2;
constexpr unsigned kPartsBit = 3;
constexpr unsigned kReasonBits = 4;
static_assert(kReasonCount <= 16, "a reason has four bits");

// Bytes of a record after its first, by kind.
constexpr std::array<std::uint8_t, 4> kRecordRest{0, 20, 12, 8};
static_assert(kMaxRecordBytes == 1 + kRecordRest[1]);

bool is_request(PacketKind kind) noexcept { return kind <= PacketKind::kServe; }

// Writes all members, of which those that the kind does not have are overwritten by what follows,
// or lie in the room behind the last.
std::byte* encode_record(const Record& record, std::byte* to) noexcept {
  store(to, static_cast<std::uint8_t>(static_cast<unsigned>(record.kind) |
                                      static_cast<unsigned>(record.direction) << kDirectionBit |
                                      static_cast<unsigned>(record.in_parts) << kPartsBit |
                                      static_cast<unsigned>(record.reason) << kReasonBits));
  store(to + 1, record.id);
  store(to + 9, record.number);
  store(to + 13, record.length_bytes);
  return to + 1 + kRecordRest[static_cast<unsigned>(record.kind)];
}

// @return behind the record; null where it is none, or longer than what is left
const std::byte* decode_record(const std::byte* from, const std::byte* end,
                               Record& record) noexcept {
  if (from == end) return nullptr;
  const auto first = std::to_integer<unsigned>(*from++);
  const unsigned kind = first & 3U;
  const unsigned reason = first >> kReasonBits;
  const std::size_t rest = kRecordRest[kind];
  if (kind == 0 || reason >= kReasonCount || static_cast<std::size_t>(end - from) < rest) {
    return nullptr;
  }
  record.kind = static_cast<RecordKind>(kind);
  record.direction = static_cast<Direction>(first >> kDirectionBit & 1U);
  record.in_parts = (first >> kPartsBit & 1U) != 0;
  record.reason = static_cast<Reason>(reason);
  record.id = load<std::uint64_t>(from);
  record.number = kind == 3 ? 0 : load<std::uint32_t>(from + 8);
  record.length_bytes = kind == 1 ? load<std::uint64_t>(from + 12) : 0;
  return from + rest;
}

// A field that is there because it is not 0.
const std::byte* decode_extra(const std::byte* from, const std::byte* end,
                              std::uint64_t& field) noexcept {
  if (from == nullptr || end - from < 8) return nullptr;
  field = load<std::uint64_t>(from);
  return field != 0 ? from + 8 : nullptr;
}

// @return behind the fields; null where they are longer than what is left, or one is not right
const std::byte* decode_request(const std::byte* from, const std::byte* end, unsigned flags,
                                Packet& packet) noexcept {
  if (end - from < 24) return nullptr;
  packet.request = load<std::uint64_t>(from);
  packet.lease = load<std::uint64_t>(from + 8);
  packet.length_bytes = load<std::uint64_t>(from + 16);
  from += 24;
  if ((flags & kOffsetFlag) != 0) from = decode_extra(from, end, packet.offset_bytes);
  if ((flags & kSumFlag) != 0) from = decode_extra(from, end, packet.checksum);
  return from;
}

// @return behind the note; null for one that is empty, too long, or not a put's
const std::byte* decode_note(const std::byte* from, const std::byte* end, Packet& packet) noexcept {
  if (from == end || packet.kind != PacketKind::kPut) return nullptr;
  const auto bytes = std::to_integer<std::uint8_t>(*from++);
  if (bytes == 0 || bytes > kMaxNoteBytes || end - from < bytes) return nullptr;
  packet.note_bytes = bytes;
  std::copy_n(from, bytes, packet.note.begin());
  return from + bytes;
}

tl::unexpected<Status> malformed(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t i) {
    return i < bytes.size() ? std::to_integer<unsigned>(bytes[i]) : 0U;
  };
  return fail(StatusCode::kInvalidInput,
              fmt::format("a malformed packet of kind {}, flags {}, {} records in {} bytes", at(0),
                          at(2), at(1), bytes.size()));
}

}  // namespace

std::size_t encode(const Packet& packet, std::span<std::byte, kMaxPacketHead> out) noexcept {
  const bool request = is_request(packet.kind);
  unsigned flags = (packet.has_checksum ? kChecksumFlag : 0U) | (packet.in_parts ? kPartsFlag : 0U);
  if (packet.note_bytes != 0) flags |= kNoteFlag;
  std::byte* to = out.data();
  store(to, static_cast<std::uint8_t>(packet.kind));
  store(to + 1, packet.record_count);
  store(to + 3, packet.epoch);
  std::byte* const place_of_flags = to + 2;
  to += kMinPacketHead;
  if (request) {
    store(to, packet.request);
    store(to + 8, packet.lease);
    store(to + 16, packet.length_bytes);
    to += 24;
    if (packet.offset_bytes != 0) {
      flags |= kOffsetFlag;
      store(to, packet.offset_bytes);
      to += 8;
    }
    if (packet.checksum != 0) {
      flags |= kSumFlag;
      store(to, packet.checksum);
      to += 8;
    }
  }
  store(place_of_flags, static_cast<std::uint8_t>(flags));
  for (std::size_t i = 0; i < packet.record_count; ++i) to = encode_record(packet.records[i], to);
  if (packet.note_bytes != 0) {
    store(to, packet.note_bytes);
    to = std::copy_n(packet.note.begin(), packet.note_bytes, to + 1);
  }
  return static_cast<std::size_t>(to - out.data());
}

bool read(std::span<const std::byte> bytes, Packet& packet) noexcept {
  if (bytes.size() < kMinPacketHead) return false;
  const std::byte* from = bytes.data();
  const std::byte* const end = from + bytes.size();
  const auto kind = load<std::uint8_t>(from);
  const auto flags = load<std::uint8_t>(from + 2);
  packet.kind = static_cast<PacketKind>(kind);
  packet.record_count = load<std::uint8_t>(from + 1);
  packet.has_checksum = (flags & kChecksumFlag) != 0;
  packet.in_parts = (flags & kPartsFlag) != 0;
  packet.epoch = load<std::uint32_t>(from + 3);
  packet.request = packet.lease = packet.length_bytes = packet.offset_bytes = packet.checksum = 0;
  packet.note_bytes = 0;
  from += kMinPacketHead;
  const bool request = is_request(packet.kind);
  if (kind < 1 || kind > 5 || packet.record_count > kMaxRecords ||
      flags > (request ? kAllFlags : kChecksumFlag | kPartsFlag)) {
    return false;
  }
  if (request) from = decode_request(from, end, flags, packet);
  for (std::size_t i = 0; from != nullptr && i < packet.record_count; ++i) {
    from = decode_record(from, end, packet.records[i]);
  }
  if (from != nullptr && (flags & kNoteFlag) != 0) from = decode_note(from, end, packet);
  return from == end;
}

Result<void> decode(std::span<const std::byte> bytes, Packet& packet) {
  if (read(bytes, packet)) return {};
  return malformed(bytes);
}

}  // namespace framewire::transport
