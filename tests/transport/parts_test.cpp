// Packets on the wire, and memory that transfers hold: what a channel is built on.
#include <gtest/gtest.h>
#include <array>
#include "transport/packet.hpp"
#include "transport/region.hpp"

namespace framewire::transport::testing {
namespace {

Packet full_packet() {
  Packet packet;
  packet.kind = PacketKind::kPut;
  packet.has_checksum = true;
  packet.epoch = 0x12345678;
  packet.request = 7;
  packet.lease = 0x1'0000'0003;
  packet.offset_bytes = 11;
  packet.length_bytes = ~std::uint64_t{0};
  packet.checksum = 13;
  packet.record_count = 3;
  packet.records[0] = {RecordKind::kGrant, Direction::kGet, Reason::kNone, true, 1000, 5, 4096};
  packet.records[1] = {RecordKind::kAck, Direction::kPut, Reason::kChecksum, false, 9, 21, 0};
  packet.records[2] = {RecordKind::kWithdraw, Direction::kGet, Reason::kCancelled, false, 0, 22, 0};
  return packet;
}

TEST(TransportPacket, ComesBackAsItWas) {
  const Packet packet = full_packet();
  std::array<std::byte, kMaxPacketHead> bytes;
  const std::size_t size = encode(packet, bytes);
  Packet back;
  ASSERT_TRUE(decode(std::span(bytes).first(size), back));
  EXPECT_EQ(back.offset_bytes, 11U);
  EXPECT_EQ(back.length_bytes, ~std::uint64_t{0});
  EXPECT_EQ(back.checksum, 13U);
  EXPECT_EQ(back.records[0].length_bytes, 4096U);
  EXPECT_TRUE(back.records[0].in_parts);
  EXPECT_EQ(back.records[1].reason, Reason::kChecksum);
  EXPECT_EQ(back.records[2].direction, Direction::kGet);
  std::array<std::byte, kMaxPacketHead> again;
  ASSERT_EQ(encode(back, again), size);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + size, again.begin()));
}

TEST(TransportPacket, IsRefusedWhereItIsCutOrLonger) {
  std::array<std::byte, kMaxPacketHead> bytes{};
  const std::size_t size = encode(full_packet(), bytes);
  Packet back;
  for (std::size_t part = 0; part < size; ++part) {
    EXPECT_FALSE(decode(std::span(bytes).first(part), back)) << part;
  }
  EXPECT_FALSE(decode(std::span(bytes).first(size + 1), back));
}

TEST(TransportPacket, SaysWhatIsZeroInOneWayOnly) {
  Packet packet;
  packet.kind = PacketKind::kGet;
  packet.offset_bytes = 1;
  std::array<std::byte, kMaxPacketHead> bytes;
  const std::size_t size = encode(packet, bytes);
  Packet back;
  ASSERT_TRUE(decode(std::span(bytes).first(size), back));
  bytes[size - 8] = std::byte{0};  // an offset of 0, which has no place in a packet
  EXPECT_FALSE(decode(std::span(bytes).first(size), back));
}

TEST(TransportPacket, FitsTheLargestHead) {
  Packet packet = full_packet();
  packet.record_count = kMaxRecords;
  packet.records.fill(packet.records[0]);
  packet.note_bytes = kMaxNoteBytes;
  packet.note.fill(std::byte{7});
  std::array<std::byte, kMaxPacketHead> bytes;
  EXPECT_EQ(encode(packet, bytes), kMaxPacketHead);
}

TEST(TransportPins, WrittenPartsBelongToOne) {
  Pins pins;
  EXPECT_TRUE(pins.hold(100, 50, true));
  EXPECT_TRUE(pins.hold(0, 100, true));
  EXPECT_TRUE(pins.hold(150, 50, true));
  EXPECT_FALSE(pins.hold(149, 1, true));
  EXPECT_FALSE(pins.hold(99, 2, false));
  EXPECT_FALSE(pins.hold(0, 1000, true));
  pins.release(100, 50, true);
  EXPECT_FALSE(pins.hold(100, 51, true));
  EXPECT_TRUE(pins.hold(110, 10, false));
  EXPECT_FALSE(pins.hold(100, 50, true));
  EXPECT_EQ(pins.count(), 3U);
}

TEST(TransportPins, ReadPartsAreCounted) {
  Pins pins;
  EXPECT_TRUE(pins.hold(0, 10, false));
  EXPECT_TRUE(pins.hold(0, 10, false));
  EXPECT_TRUE(pins.hold(5, 10, false));
  EXPECT_EQ(pins.count(), 3U);
  pins.release(0, 10, false);
  EXPECT_FALSE(pins.hold(0, 5, true));
  pins.release(0, 10, false);
  EXPECT_TRUE(pins.hold(0, 5, true));
  EXPECT_FALSE(pins.hold(14, 1, true));
}

}  // namespace
}  // namespace framewire::transport::testing
