// Packets through memory that two processes map: in order, whole, and whatever lies there.
#include "transport/shared/packet_ring.hpp"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace framewire::transport::testing {
namespace {

using shared::RingKey;
using shared::RingLayout;
using shared::RingPlace;
using shared::RingReader;
using shared::RingWriter;
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
    if (packets.empty()) return;
    Bytes& payload = packets.back().payload;
    payload.insert(payload.end(), part.begin(), part.end());
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
    const std::string path = "/proc/self/fd/" + std::to_string(reader_.place().file);
    const wire::Socket file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    memory_ = shared::SealedMemory::open(file, sizeof(RingLayout), true).value();
    return *reinterpret_cast<RingLayout*>(memory_.data());
  }
  static constexpr std::uint64_t word(std::uint64_t number, std::uint64_t kind,
                                      std::uint64_t payload, std::uint64_t follows = 0) {
    return number | follows << 16 | kind << 32 | payload << 48;
  }

  std::mt19937 random_{11};
  RingReader reader_ = RingReader::make(kKey).value();
  RingWriter writer_ = RingWriter::open(reader_.place(), kKey).value();
  shared::SealedMemory memory_;
  Taker taker_;
};

TEST_F(PacketRing, PacketsOfAllSizesComeWholeAndInOrder) {
  std::deque<Taker::Packet> sent;
  const std::size_t sizes[] = {0, 1, 8, 1088, 1096, 1097, 1144, 4096, 8191, 8192, 8193, 100'000};
  for (int i = 0; i < 20'000; ++i) {
    const bool is_short = random_() % 2 == 0;
    std::size_t size = sizes[random_() % std::size(sizes)];
    if (is_short) size = std::min(size, kMostShortBytes);
    const Bytes payload = random_bytes(size);
    Bytes head = random_bytes(
        is_short ? sizeof(ShortPut)
                 : kMinPacketHead + random_() % (RingLayout::kMostHead - kMinPacketHead + 1));
    ShortPut put;
    std::memcpy(&put, head.data(), std::min(head.size(), sizeof put));
    const bool added = is_short ? writer_.add(put, payload, 0) : writer_.add(head, payload, 0);
    if (added) sent.push_back({std::move(head), payload, payload.size()});
    if (!added || random_() % 8 == 0) {
      ASSERT_GE(reader_.drain(0, kAll, taker_), added ? 1 : 0);
      ASSERT_EQ(taker_.packets, sent);
      taker_.packets.clear();
      sent.clear();
    }
  }
}

TEST_F(PacketRing, WhatIsFullTakesNothingUntilItIsRead) {
  const Bytes head(20);
  const Bytes payload(100);
  std::size_t count = 0;
  while (writer_.add(head, payload, 0)) ++count;
  EXPECT_EQ(count, RingLayout::kSlots);
  EXPECT_EQ(reader_.drain(0, 20, taker_), 20);
  // A payload of several slots goes in whole or not at all.
  EXPECT_FALSE(writer_.add(head, Bytes(17 * RingLayout::kBodyBytes), 0));
  EXPECT_TRUE(writer_.add(head, Bytes(16 * RingLayout::kBodyBytes), 0));
  EXPECT_FALSE(writer_.add(head, payload, 0));
  EXPECT_EQ(reader_.drain(0, kAll, taker_), 60);
  EXPECT_EQ(taker_.packets.size(), 65U);
  EXPECT_EQ(taker_.packets.back().payload.size(), 16 * RingLayout::kBodyBytes);
  EXPECT_FALSE(writer_.add(head, Bytes(RingLayout::kMostBytes + 1), 0));
  EXPECT_FALSE(writer_.add(Bytes(RingLayout::kMostHead + 1), payload, 0));
}

TEST_F(PacketRing, APacketWaitsForWhatWasSentBeforeItSomeOtherWay) {
  const Bytes head(20);
  ASSERT_TRUE(writer_.add(head, {}, 0xffff));
  ASSERT_TRUE(writer_.add(head, {}, 0));  // one message later
  ASSERT_TRUE(writer_.add(head, {}, 2));
  EXPECT_EQ(reader_.drain(0xfffe, kAll, taker_), 0);
  EXPECT_EQ(reader_.drain(0xffff, kAll, taker_), 1);
  EXPECT_EQ(reader_.drain(1, kAll, taker_), 1);
  EXPECT_EQ(reader_.drain(2, kAll, taker_), 1);
}

TEST_F(PacketRing, OnlyTheConnectionsOwnMemoryIsWrittenTo) {
  RingKey other = kKey;
  other[15] = std::byte{1};
  EXPECT_EQ(RingWriter::open(reader_.place(), other).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(RingWriter::open({0, 0}, kKey).error().code(), StatusCode::kUnsupported);
  EXPECT_EQ(RingWriter::open({reader_.place().process, 1 << 20}, kKey).error().code(),
            StatusCode::kUnsupported);
  // Memory that its owner could cut short.
  const wire::Socket loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.fd(), sizeof(RingLayout)), 0);
  ASSERT_EQ(::pwrite(loose.fd(), &opened(), 32, 0), 32);
  EXPECT_EQ(RingWriter::open({reader_.place().process, loose.fd()}, kKey).error().code(),
            StatusCode::kInvalidInput);
}

// A peer may name any descriptor of any process that this one may look into.
TEST_F(PacketRing, MemoryThatIsNoRingIsLeftAlone) {
  const auto process = reader_.place().process;
  auto foreign = shared::SealedMemory::make(sizeof(RingLayout)).value();
  const RingKey zeros{};
  EXPECT_EQ(RingWriter::open({process, foreign.fd()}, zeros).error().code(),
            StatusCode::kInvalidInput);
  std::memcpy(foreign.data(), &opened(), 32);
  EXPECT_TRUE(RingWriter::open({process, foreign.fd()}, kKey));
  auto longer = shared::SealedMemory::make(sizeof(RingLayout) + 4096).value();
  std::memcpy(longer.data(), &opened(), 32);
  EXPECT_EQ(RingWriter::open({process, longer.fd()}, kKey).error().code(),
            StatusCode::kInvalidInput);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  EXPECT_EQ(RingWriter::open({process, pipe[1]}, kKey).error().code(), StatusCode::kInvalidInput);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(PacketRing, SizesThatCannotBeAreRefused) {
  const std::uint64_t lies[] = {
      word(1, 20, RingLayout::kBodyBytes + 1),
      word(1, RingLayout::kShort, RingLayout::kBodyBytes + 1),
      word(1, RingLayout::kMore, 0xffff),
      word(1, kMinPacketHead - 1, 0),
      word(1, RingLayout::kMostHead + 1, 0),
      word(1, RingLayout::kLong, 8),
      word(1, RingLayout::kLong | (RingLayout::kMostHead + 1), 8),
  };
  RingLayout& memory = opened();
  for (const std::uint64_t lie : lies) {
    memory.slots[0].word = lie;
    EXPECT_EQ(reader_.drain(0, kAll, taker_), -1) << std::hex << lie;
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
    const int count = reader_.drain(0, kAll, taker_);
    number += count > 0 ? 1 : 0;
    for (const auto& packet : taker_.packets) {
      ASSERT_LE(packet.head.size(), RingLayout::kMostHead);
      ASSERT_LE(packet.payload.size(), 2 * RingLayout::kBodyBytes);
    }
    taker_.packets.clear();
    memory.taken =
        random_();  // for the writer, who is not believed to have more room than there is
  }
  EXPECT_GT(number, 1000U);
}

}  // namespace
}  // namespace framewire::transport::testing
