#include "transport/packet.hpp"
#include <fmt/format.h>
#include "transport/bytes.hpp"

namespace framewire::transport {
namespace {

constexpr std::uint8_t kChecksumFlag = 1;
constexpr std::uint8_t kPartsFlag = 2;

void encode_record(const Record& record, std::byte* out) noexcept {
  store(out, static_cast<std::uint8_t>(record.kind));
  store(out + 1, static_cast<std::uint8_t>(record.direction));
  store(out + 2, static_cast<std::uint8_t>(record.reason));
  store(out + 3, static_cast<std::uint8_t>(record.in_parts));
  store(out + 4, record.number);
  store(out + 8, record.id);
  store(out + 16, record.length_bytes);
}

bool decode_record(const std::byte* in, Record& record) noexcept {
  const auto kind = load<std::uint8_t>(in);
  const auto direction = load<std::uint8_t>(in + 1);
  const auto reason = load<std::uint8_t>(in + 2);
  if (kind < 1 || kind > 3 || direction > 1 || reason >= kReasonCount ||
      load<std::uint8_t>(in + 3) > 1) {
    return false;
  }
  record.kind = static_cast<RecordKind>(kind);
  record.direction = static_cast<Direction>(direction);
  record.reason = static_cast<Reason>(reason);
  record.in_parts = load<std::uint8_t>(in + 3) != 0;
  record.number = load<std::uint32_t>(in + 4);
  record.id = load<std::uint64_t>(in + 8);
  record.length_bytes = load<std::uint64_t>(in + 16);
  return true;
}

}  // namespace

std::size_t encode(const Packet& packet, std::span<std::byte, kMaxPacketHead> out) noexcept {
  std::byte* to = out.data();
  store(to, static_cast<std::uint8_t>(packet.kind));
  store(to + 1, packet.record_count);
  store(to + 2, static_cast<std::uint8_t>((packet.has_checksum ? kChecksumFlag : 0) |
                                          (packet.in_parts ? kPartsFlag : 0)));
  store(to + 3, std::uint8_t{0});
  store(to + 4, packet.epoch);
  store(to + 8, packet.request);
  store(to + 16, packet.lease);
  store(to + 24, packet.offset_bytes);
  store(to + 32, packet.length_bytes);
  store(to + 40, packet.checksum);
  for (std::size_t i = 0; i < packet.record_count; ++i) {
    encode_record(packet.records[i], to + kHeadBytes + i * kRecordBytes);
  }
  return kHeadBytes + packet.record_count * kRecordBytes;
}

Result<void> decode(std::span<const std::byte> bytes, Packet& packet) {
  if (bytes.size() < kHeadBytes) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a packet of {} bytes; {} or more", bytes.size(), kHeadBytes));
  }
  const std::byte* from = bytes.data();
  const auto kind = load<std::uint8_t>(from);
  const auto flags = load<std::uint8_t>(from + 2);
  packet.record_count = load<std::uint8_t>(from + 1);
  if (kind < 1 || kind > 5 || flags > (kChecksumFlag | kPartsFlag) ||
      load<std::uint8_t>(from + 3) != 0 || packet.record_count > kMaxRecords ||
      bytes.size() != kHeadBytes + packet.record_count * kRecordBytes) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a packet of kind {}, flags {}, {} records in {} bytes", kind, flags,
                            packet.record_count, bytes.size()));
  }
  packet.kind = static_cast<PacketKind>(kind);
  packet.has_checksum = (flags & kChecksumFlag) != 0;
  packet.in_parts = (flags & kPartsFlag) != 0;
  packet.epoch = load<std::uint32_t>(from + 4);
  packet.request = load<std::uint64_t>(from + 8);
  packet.lease = load<std::uint64_t>(from + 16);
  packet.offset_bytes = load<std::uint64_t>(from + 24);
  packet.length_bytes = load<std::uint64_t>(from + 32);
  packet.checksum = load<std::uint64_t>(from + 40);
  for (std::size_t i = 0; i < packet.record_count; ++i) {
    if (!decode_record(from + kHeadBytes + i * kRecordBytes, packet.records[i])) {
      return fail(StatusCode::kInvalidInput, fmt::format("record {} of a packet is malformed", i));
    }
  }
  return {};
}

}  // namespace framewire::transport
