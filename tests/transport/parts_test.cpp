// Packets on the wire, and memory that transfers hold: what a channel is built on.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <random>
#include <transport/batch.hpp>
#include <transport/bytes.hpp>
#include <transport/packet.hpp>
#include <transport/region.hpp>
#include <transport/ring.hpp>
#include <vector>

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

std::vector<std::byte> bytes_of(std::size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7);
  return bytes;
}

TEST(TransportBatch, PacketsComeBackInOrder) {
  const std::vector<std::size_t> payloads{0, 1, 100, Batch::kMaxPayload, 0};
  Batch batch;
  EXPECT_TRUE(batch.empty());
  for (unsigned i = 0; i < payloads.size(); ++i) {
    const auto payload = bytes_of(payloads[i], i);
    ASSERT_TRUE(batch.add(bytes_of(30 + i, i), payload.data(), payload.size()));
  }
  BatchReader reader(batch.heads(), batch.payloads());
  for (unsigned i = 0; i < payloads.size(); ++i) {
    const auto item = reader.next();
    ASSERT_TRUE(item);
    EXPECT_TRUE(std::ranges::equal(item->head, bytes_of(30 + i, i)));
    EXPECT_TRUE(std::ranges::equal(item->payload, bytes_of(payloads[i], i)));
  }
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.whole());
  batch.clear();
  EXPECT_TRUE(batch.empty());
}

TEST(TransportBatch, RefusesWhatDoesNotFit) {
  Batch batch;
  const auto large = bytes_of(Batch::kMaxPayload + 1, 0);
  const auto head = bytes_of(kMaxPacketHead, 1);
  EXPECT_FALSE(batch.add(head, large.data(), large.size()));
  EXPECT_TRUE(batch.empty());
  std::size_t added = 0;
  while (batch.add(head, large.data(), 8)) ++added;
  EXPECT_GE(added, 2U);
  EXPECT_LE(batch.heads().size(), (added + 1) * kMaxPacketHead);
  batch.clear();
  added = 0;
  while (batch.add(std::span(head).first(31), large.data(), Batch::kMaxPayload)) ++added;
  EXPECT_GE(added, 2U);
  EXPECT_EQ(batch.payloads().size(), added * Batch::kMaxPayload);
}

TEST(TransportBatch, SizesThatLieEndIt) {
  Batch batch;
  const auto payload = bytes_of(50, 3);
  ASSERT_TRUE(batch.add(bytes_of(40, 2), payload.data(), payload.size()));
  const std::vector<std::byte> heads(batch.heads().begin(), batch.heads().end());
  const auto rest_of = [](std::span<const std::byte> some, std::span<const std::byte> payloads) {
    BatchReader reader(some, payloads);
    while (reader.next()) {
    }
    return reader.whole();
  };
  EXPECT_TRUE(rest_of(heads, batch.payloads()));
  for (std::size_t part = 2; part < heads.size(); ++part) {
    EXPECT_FALSE(rest_of(std::span(heads).first(part), batch.payloads())) << part;
  }
  EXPECT_FALSE(rest_of(heads, batch.payloads().first(49)));
  EXPECT_FALSE(rest_of(heads, bytes_of(51, 0)));
  auto lying = heads;
  store(lying.data() + 1, std::uint16_t{kMinPacketHead - 1});
  EXPECT_FALSE(rest_of(lying, batch.payloads()));
  store(lying.data() + 1, std::uint16_t{0xffff});
  EXPECT_FALSE(rest_of(lying, batch.payloads()));
}

TEST(TransportRing, IsAQueueThatGrows) {
  Ring<int> ring;
  EXPECT_TRUE(ring.empty());
  int next_in = 0;
  int next_out = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 3; ++i) ring.push_back(next_in++);
    EXPECT_EQ(ring.back(), next_in - 1);
    for (int i = 0; i < 2; ++i, ++next_out) {
      ASSERT_EQ(ring.front(), next_out);
      ring.pop_front();
    }
  }
  ASSERT_EQ(ring.size(), 100U);
  ring.erase_if([](int value) { return value % 2 == 0; });
  ASSERT_EQ(ring.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ring[static_cast<std::size_t>(i)], 201 + 2 * i);
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

// The account of parts, against one that is a list, with slots taken and freed in any order.
TEST(TransportPins, AgreeWithAList) {
  std::mt19937 random(3);
  Pins pins;
  std::array<bool, 40> held{};
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t slot = random() % held.size();
    if (held[slot] && random() % 2 == 0) {
      pins.release(slot * 10, 10, true);
      held[slot] = false;
    } else {
      EXPECT_EQ(pins.hold(slot * 10 + 3, 2, true), !held[slot]);
      if (!held[slot]) pins.release(slot * 10 + 3, 2, true);
      EXPECT_EQ(pins.hold(slot * 10, 10, true), !held[slot]);
      held[slot] = true;
    }
  }
  EXPECT_EQ(pins.count(), static_cast<std::size_t>(std::ranges::count(held, true)));
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
