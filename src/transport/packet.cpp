#include "transport/packet.hpp"
#include <fmt/format.h>
#include <algorithm>
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

// Takes fields off the front; 0 once something is missing.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : from_(bytes.data()), left_(bytes.size()) {}
  template <std::integral T>
  T take() noexcept {
    if (left_ < sizeof(T)) {
      short_ = true;
      return T{};
    }
    const T value = load<T>(from_);
    from_ += sizeof(T);
    left_ -= sizeof(T);
    return value;
  }
  void take(std::span<std::byte> to) noexcept {
    short_ = short_ || left_ < to.size();
    if (short_) return;
    std::copy_n(from_, to.size(), to.begin());
    from_ += to.size();
    left_ -= to.size();
  }
  [[nodiscard]] bool complete() const noexcept { return !short_ && left_ == 0; }

 private:
  const std::byte* from_;
  std::size_t left_;
  bool short_ = false;
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

bool decode_record(Reader& in, Record& record) noexcept {
  const auto first = in.take<std::uint8_t>();
  const unsigned kind = first & 3U;
  const unsigned reason = first >> kReasonBits;
  if (kind == 0 || reason >= kReasonCount) return false;
  record.kind = static_cast<RecordKind>(kind);
  record.direction = static_cast<Direction>(first >> kDirectionBit & 1U);
  record.in_parts = (first >> kPartsBit & 1U) != 0;
  record.reason = static_cast<Reason>(reason);
  record.id = in.take<std::uint64_t>();
  const bool withdraw = record.kind == RecordKind::kWithdraw;
  record.number = withdraw ? 0 : in.take<std::uint32_t>();
  record.length_bytes = record.kind == RecordKind::kGrant ? in.take<std::uint64_t>() : 0;
  return true;
}

// @return false where a field that was to be there is 0
bool decode_request(Reader& in, unsigned flags, Packet& packet) noexcept {
  packet.request = in.take<std::uint64_t>();
  packet.lease = in.take<std::uint64_t>();
  packet.length_bytes = in.take<std::uint64_t>();
  if ((flags & kOffsetFlag) != 0) packet.offset_bytes = in.take<std::uint64_t>();
  if ((flags & kSumFlag) != 0) packet.checksum = in.take<std::uint64_t>();
  return (packet.offset_bytes != 0) == ((flags & kOffsetFlag) != 0) &&
         (packet.checksum != 0) == ((flags & kSumFlag) != 0);
}

// @return false for a note that is empty, too long, or not a put's
bool decode_note(Reader& in, Packet& packet) noexcept {
  packet.note_bytes = in.take<std::uint8_t>();
  if (packet.kind != PacketKind::kPut || packet.note_bytes == 0 ||
      packet.note_bytes > kMaxNoteBytes) {
    return false;
  }
  in.take(std::span(packet.note).first(packet.note_bytes));
  return true;
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
  const auto kind = in.take<std::uint8_t>();
  packet.record_count = in.take<std::uint8_t>();
  const auto flags = in.take<std::uint8_t>();
  packet.epoch = in.take<std::uint32_t>();
  packet.kind = static_cast<PacketKind>(kind);
  packet.has_checksum = (flags & kChecksumFlag) != 0;
  packet.in_parts = (flags & kPartsFlag) != 0;
  packet.request = packet.lease = packet.length_bytes = packet.offset_bytes = packet.checksum = 0;
  const bool request = is_request(packet.kind);
  bool good = kind >= 1 && kind <= 5 && packet.record_count <= kMaxRecords &&
              flags <= (request ? kAllFlags : kChecksumFlag | kPartsFlag);
  if (good && request) good = decode_request(in, flags, packet);
  for (std::size_t i = 0; good && i < packet.record_count; ++i) {
    good = decode_record(in, packet.records[i]);
  }
  packet.note_bytes = 0;
  if (good && (flags & kNoteFlag) != 0) good = decode_note(in, packet);
  if (good && in.complete()) return {};
  return fail(StatusCode::kInvalidInput,
              fmt::format("a malformed packet of kind {}, flags {}, {} records in {} bytes", kind,
                          flags, packet.record_count, bytes.size()));
}

}  // namespace framewire::transport
