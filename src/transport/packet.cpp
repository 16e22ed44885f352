#include "transport/packet.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <utility>
#include "transport/bytes.hpp"

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

// Appends fields, without a look at the room: a head has enough for all there can be.
class Writer {
 public:
  explicit Writer(std::byte* to) : begin_(to), to_(to) {}
  template <std::integral T>
  void put(T value) noexcept {
    store(to_, value);
    to_ += sizeof value;
  }
  void put(std::span<const std::byte> bytes) noexcept {
    to_ = std::copy(bytes.begin(), bytes.end(), to_);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(to_ - begin_);
  }

 private:
  std::byte* begin_;
  std::byte* to_;
};

// Takes groups of fields off the front, so that the room is looked at once a group.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes)
      : from_(bytes.data()), end_(from_ + bytes.size()) {}
  // Null where there are not as many bytes.
  [[nodiscard]] const std::byte* take(std::size_t bytes) noexcept {
    if (left() < bytes) return nullptr;
    return std::exchange(from_, from_ + bytes);
  }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - from_); }

 private:
  const std::byte* from_;
  const std::byte* end_;
};

bool is_request(PacketKind kind) noexcept { return kind <= PacketKind::kServe; }

void encode_record(const Record& record, Writer& out) noexcept {
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(record.kind) |
                                    static_cast<unsigned>(record.direction) << kDirectionBit |
                                    static_cast<unsigned>(record.in_parts) << kPartsBit |
                                    static_cast<unsigned>(record.reason) << kReasonBits));
  out.put(record.id);
  if (record.kind != RecordKind::kWithdraw) out.put(record.number);
  if (record.kind == RecordKind::kGrant) out.put(record.length_bytes);
}

// Bytes of a record after its first, by kind.
constexpr std::array<std::uint8_t, 4> kRecordRest{0, 20, 12, 8};
static_assert(kMaxRecordBytes == 1 + kRecordRest[1]);

bool decode_record(Reader& in, Record& record) noexcept {
  const std::byte* const at = in.take(1);
  if (at == nullptr) return false;
  const auto first = std::to_integer<unsigned>(*at);
  const unsigned kind = first & 3U;
  const unsigned reason = first >> kReasonBits;
  const std::byte* const rest = in.take(kRecordRest[kind]);
  if (kind == 0 || reason >= kReasonCount || rest == nullptr) return false;
  record.kind = static_cast<RecordKind>(kind);
  record.direction = static_cast<Direction>(first >> kDirectionBit & 1U);
  record.in_parts = (first >> kPartsBit & 1U) != 0;
  record.reason = static_cast<Reason>(reason);
  record.id = load<std::uint64_t>(rest);
  record.number = kind == 3 ? 0 : load<std::uint32_t>(rest + 8);
  record.length_bytes = kind == 1 ? load<std::uint64_t>(rest + 12) : 0;
  return true;
}

// @return false where a field that was to be there is 0
bool decode_request(Reader& in, unsigned flags, Packet& packet) noexcept {
  const bool has_offset = (flags & kOffsetFlag) != 0;
  const bool has_sum = (flags & kSumFlag) != 0;
  const std::byte* at = in.take(24U + (has_offset ? 8U : 0U) + (has_sum ? 8U : 0U));
  if (at == nullptr) return false;
  packet.request = load<std::uint64_t>(at);
  packet.lease = load<std::uint64_t>(at + 8);
  packet.length_bytes = load<std::uint64_t>(at + 16);
  if (has_offset) packet.offset_bytes = load<std::uint64_t>(at + 24);
  if (has_sum) packet.checksum = load<std::uint64_t>(at + (has_offset ? 32 : 24));
  return (packet.offset_bytes != 0) == has_offset && (packet.checksum != 0) == has_sum;
}

// @return false for a note that is empty, too long, or not a put's
bool decode_note(Reader& in, Packet& packet) noexcept {
  const std::byte* const size = in.take(1);
  if (size == nullptr || packet.kind != PacketKind::kPut) return false;
  const auto bytes = std::to_integer<std::uint8_t>(*size);
  if (bytes == 0 || bytes > kMaxNoteBytes) return false;
  const std::byte* const note = in.take(bytes);
  if (note == nullptr) return false;
  packet.note_bytes = bytes;
  std::copy_n(note, bytes, packet.note.begin());
  return true;
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
  if (request && packet.offset_bytes != 0) flags |= kOffsetFlag;
  if (request && packet.checksum != 0) flags |= kSumFlag;
  if (packet.note_bytes != 0) flags |= kNoteFlag;
  Writer to(out.data());
  to.put(static_cast<std::uint8_t>(packet.kind));
  to.put(packet.record_count);
  to.put(static_cast<std::uint8_t>(flags));
  to.put(packet.epoch);
  if (request) {
    to.put(packet.request);
    to.put(packet.lease);
    to.put(packet.length_bytes);
    if ((flags & kOffsetFlag) != 0) to.put(packet.offset_bytes);
    if ((flags & kSumFlag) != 0) to.put(packet.checksum);
  }
  for (std::size_t i = 0; i < packet.record_count; ++i) encode_record(packet.records[i], to);
  if (packet.note_bytes != 0) {
    to.put(packet.note_bytes);
    to.put(std::span(packet.note).first(packet.note_bytes));
  }
  return to.bytes();
}

Result<void> decode(std::span<const std::byte> bytes, Packet& packet) {
  Reader in(bytes);
  const std::byte* const start = in.take(kMinPacketHead);
  if (start == nullptr) return malformed(bytes);
  const auto kind = load<std::uint8_t>(start);
  const auto flags = load<std::uint8_t>(start + 2);
  packet.kind = static_cast<PacketKind>(kind);
  packet.record_count = load<std::uint8_t>(start + 1);
  packet.has_checksum = (flags & kChecksumFlag) != 0;
  packet.in_parts = (flags & kPartsFlag) != 0;
  packet.epoch = load<std::uint32_t>(start + 3);
  packet.request = packet.lease = packet.length_bytes = packet.offset_bytes = packet.checksum = 0;
  packet.note_bytes = 0;
  const bool request = is_request(packet.kind);
  bool good = kind >= 1 && kind <= 5 && packet.record_count <= kMaxRecords &&
              flags <= (request ? kAllFlags : kChecksumFlag | kPartsFlag);
  if (good && request) good = decode_request(in, flags, packet);
  for (std::size_t i = 0; good && i < packet.record_count; ++i) {
    good = decode_record(in, packet.records[i]);
  }
  if (good && (flags & kNoteFlag) != 0) good = decode_note(in, packet);
  if (good && in.left() == 0) return {};
  return malformed(bytes);
}

}  // namespace framewire::transport
