// Packets through memory that two processes map: in order, whole, and whatever lies there.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <deque>
#include <random>
#include <transport/shared/packet_ring.hpp>
#include <vector>

namespace framewire::transport::testing {
namespace {

using shared::PacketRingReader;
using shared::PacketRingWriter;
using shared::RingKey;
using shared::RingLayout;
using Bytes = std::vector<std::byte>;

constexpr RingKey kKey{std::byte{1}, std::byte{2}, std::byte{3}};
constexpr int kAll = 1000;

// Keeps what comes.
struct Taker {
  struct Packet {
    Bytes head;
    Bytes payload;
    std::uint64_t total = 0;
    bool operator==(const Packet&) const = default;
  };
  void take(std::span<const std::byte> head, std::span<const std::byte> payload,
            std::uint64_t total) {
    packets.push_back({{head.begin(), head.end()}, {payload.begin(), payload.end()}, total});
  }
  void take_more(std::span<const std::byte> part) {
    const auto first = std::find_if(packets.begin(), packets.end(), [](const Packet& packet) {
      return packet.payload.size() < packet.total;
    });
    if (first != packets.end()) {
      first->payload.insert(first->payload.end(), part.begin(), part.end());
    }
  }
  void take_short(const ShortPut& put, std::span<const std::byte> payload) {
    const auto head = std::as_bytes(std::span(&put, 1));
    take(head, payload, payload.size());
  }
  std::deque<Packet> packets;
};

class PacketRing : public ::testing::Test {
 protected:
  Bytes random_bytes(std::size_t count) {
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  // Memory of the ring as somebody else has it.
  RingLayout& opened() {
    const base::FileDescriptor file(::dup(reader_.fd()));
    memory_ = shared::SealedMemory::open(file, sizeof(RingLayout), true).value();
    return *reinterpret_cast<RingLayout*>(memory_.data());
  }
  static constexpr std::uint64_t word(std::uint64_t number, std::uint64_t kind,
                                      std::uint64_t payload) {
    return number | kind << 32 | payload << 48;
  }

  // A packet of any size, as far as there is room for all of it.
  bool add(std::span<const std::byte> head, std::span<const std::byte> payload) {
    if (payload.size() <= RingLayout::kBodyBytes) return writer_.add(head, payload);
    if (!writer_.begin(head, payload)) return false;
    for (auto left = payload.subspan(RingLayout::kBodyBytes); !left.empty();) {
      const auto part = left.first(std::min(left.size(), RingLayout::kBodyBytes));
      if (writer_.add_part(part, 0)) {
        left = left.subspan(part.size());
      } else {
        EXPECT_GE(reader_.drain(kAll, taker_), 16);
      }
    }
    return true;
  }

  std::mt19937 random_{11};
  PacketRingReader reader_ = PacketRingReader::make(kKey).value();
  PacketRingWriter writer_ =
      PacketRingWriter::open(base::FileDescriptor(::dup(reader_.fd())), kKey).value();
  shared::SealedMemory memory_;
  Taker taker_;
};

TEST_F(PacketRing, PacketsOfAllSizesComeWholeAndInOrder) {
  std::deque<Taker::Packet> sent;
  const std::size_t sizes[] = {0,    1,    8,    1088, 1096,    1097,   1144,
                               4096, 8191, 8192, 8193, 100'000, 700'000};
  const Bytes drawn = random_bytes(1u << 20);  // drawing each payload took most of the test's time
  for (int i = 0; i < 20'000; ++i) {
    const bool is_short = random_() % 2 == 0;
    std::size_t size = sizes[random_() % std::size(sizes)];
    if (is_short) size = std::min(size, kMaxShortBytes);
    const auto first =
        drawn.begin() + static_cast<std::ptrdiff_t>(random_() % (drawn.size() - size));
    const Bytes payload(first, first + static_cast<std::ptrdiff_t>(size));
    Bytes head = random_bytes(
        is_short ? sizeof(ShortPut)
                 : kMinPacketHead + random_() % (RingLayout::kMaxHead - kMinPacketHead + 1));
    ShortPut put;
    std::memcpy(&put, head.data(), std::min(head.size(), sizeof put));
    const bool added = is_short ? writer_.add(put, payload) : add(head, payload);
    if (added) sent.push_back({std::move(head), payload, payload.size()});
    if (!added || random_() % 8 == 0) {
      ASSERT_GE(reader_.drain(kAll, taker_), added ? 1 : 0);
      ASSERT_EQ(taker_.packets, sent);
      taker_.packets.clear();
      sent.clear();
    }
  }
}

TEST_F(PacketRing, WhatIsFullTakesNothingUntilItIsRead) {
  const Bytes head(20);
  const Bytes payload(100);
  const Bytes large(RingLayout::kBodyBytes + 1);
  std::size_t count = 0;
  while (writer_.add(head, payload)) ++count;
  EXPECT_EQ(count, RingLayout::kSlots);
  EXPECT_FALSE(writer_.begin(head, large));
  constexpr int kTold = RingLayout::kSlots / 4;  // as often the reader says how far it is
  EXPECT_EQ(reader_.drain(kTold + 4, taker_), kTold + 4);
  EXPECT_TRUE(writer_.begin(head, large));
  EXPECT_FALSE(writer_.add_part(payload, kTold - 1));
  EXPECT_TRUE(writer_.add_part(payload, kTold - 2));
  EXPECT_FALSE(writer_.add(head, Bytes(RingLayout::kBodyBytes + 1)));
  EXPECT_FALSE(writer_.add(Bytes(RingLayout::kMaxHead + 1), payload));
  EXPECT_FALSE(writer_.begin(Bytes(RingLayout::kMaxHead + 1), large));
}

// Packets that are whole, and beginnings of others, come between the parts of a long one.
TEST_F(PacketRing, OthersPassBetweenTheParts) {
  const Bytes head(20);
  const Bytes large = random_bytes(3 * RingLayout::kBodyBytes);
  const std::span<const std::byte> bytes(large);
  ASSERT_TRUE(writer_.begin(head, large));
  ASSERT_TRUE(writer_.add(head, Bytes(5)));
  ASSERT_TRUE(writer_.add_part(bytes.subspan(RingLayout::kBodyBytes, RingLayout::kBodyBytes), 0));
  ASSERT_TRUE(writer_.begin(Bytes(30), large));
  ASSERT_TRUE(writer_.add_part(bytes.subspan(2 * RingLayout::kBodyBytes), 0));
  EXPECT_EQ(reader_.drain(kAll, taker_), 5);
  ASSERT_EQ(taker_.packets.size(), 3U);
  EXPECT_EQ(taker_.packets[0].total, large.size());
  EXPECT_EQ(taker_.packets[1].total, 5U);
  EXPECT_EQ(taker_.packets[2].head.size(), 30U);
}

TEST_F(PacketRing, SizesThatCannotBeAreRefused) {
  const std::uint64_t lies[] = {
      word(1, 20, RingLayout::kBodyBytes + 1),
      word(1, RingLayout::kShort, RingLayout::kBodyBytes + 1),
      word(1, RingLayout::kMore, 0xffff),
      word(1, kMinPacketHead - 1, 0),
      word(1, RingLayout::kMaxHead + 1, 0),
      word(1, RingLayout::kLong, 8),
      word(1, RingLayout::kLong | (RingLayout::kMaxHead + 1), 8),
  };
  RingLayout& memory = opened();
  for (const std::uint64_t lie : lies) {
    memory.slots[0].word = lie;
    EXPECT_EQ(reader_.drain(kAll, taker_), -1) << std::hex << lie;
  }
  EXPECT_TRUE(taker_.packets.empty());
}

// Whatever words another process writes: spans lie in the ring's memory or the reader's own copy.
TEST_F(PacketRing, AnyWordsAreSafe) {
  RingLayout& memory = opened();
  std::uint64_t number = 1;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t kinds[] = {0, 1, random_() & 0xff, RingLayout::kLong | (random_() & 0xff)};
    memory.slots[(number - 1) % RingLayout::kSlots].word =
        word(number & 0xffff, kinds[random_() % 4], random_() & 0x3fff);
    const int count = reader_.drain(kAll, taker_);
    number += count > 0 ? 1 : 0;
    for (const auto& packet : taker_.packets) {
      ASSERT_LE(packet.head.size(), RingLayout::kMaxHead);
      ASSERT_LE(packet.payload.size(), kAll * RingLayout::kBodyBytes);
    }
    taker_.packets.clear();
    memory.taken =
        random_();  // for the writer, who is not believed to have more room than there is
  }
  EXPECT_GT(number, 1000U);
}

}  // namespace
}  // namespace framewire::transport::testing
