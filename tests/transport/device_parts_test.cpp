// Payloads in parts, as a hostile peer of a device link sends them, and the heads of parts alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <base/file_descriptor.hpp>
#include <cstring>
#include <tests/transport/card_link.hpp>
#include <tests/transport/ends_test.hpp>
#include <tests/transport/fake_device.hpp>
#include <tests/transport/played_peer.hpp>
#include <transport/device_copy.hpp>
#include <transport/loopback/loopback.hpp>
#include <transport/peer/device_link.hpp>
#include <transport/peer/parts.hpp>

namespace framewire::transport::testing {
namespace {

// The far end of a device link, played by hand; the parameter says whether this end has a card.
class AttackByPeer : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto [ours, theirs] = make_loopback();
    raw_ = std::move(theirs);
    raw_->attach(&peer_);
    channel_ = std::make_unique<Channel>(transport::make_channel(
        peer::make_device_link(std::make_unique<CardLink>(std::move(ours), GetParam(), false)),
        PlayedPeer::config()));
    room_ = channel_->offer(memory_, 0, memory_.size()).value();
    step();
    packet_ = peer_.put(2 * peer::kStagedPartBytes);
    part_.message = 1;
    part_.total = packet_.length_bytes;
    part_.part_bytes = part_.bytes = peer::kStagedPartBytes;
  }
  void TearDown() override {
    channel_.reset();
    raw_.reset();
  }

  void step() {
    for (int i = 0; i < 4; ++i) {
      channel_->progress();
      raw_->progress();
    }
  }
  void send_part(std::uint64_t payload_bytes) {
    std::array<std::byte, kMaxPacketHead> inner;
    const auto inner_bytes = transport::encode(packet_, inner);
    peer::HeadBuffer head;
    const auto bytes = peer::encode(part_, std::span(inner).first(inner_bytes), head);
    static_cast<void>(raw_->send(std::span(head).first(bytes), payload_.data(), payload_bytes, 1));
    step();
  }
  void expect_refused() {
    ASSERT_TRUE(channel_->lost().has_value());
    EXPECT_EQ(channel_->lost()->code(), StatusCode::kInvalidInput);
    EXPECT_EQ(channel_->uncertain(), 0U);
  }

  WithDevices devices_;
  Region memory_ = Region::allocate_device(*devices_, 0, 2 << 20).value();
  std::vector<std::byte> payload_{std::size_t{2} << 20, std::byte{7}};
  PlayedPeer peer_;
  std::unique_ptr<Link> raw_;
  std::unique_ptr<Channel> channel_;
  Transfer room_;
  Packet packet_;
  peer::PartHead part_;
};

TEST_P(AttackByPeer, AnHonestOneIsHeard) {
  send_part(part_.bytes);
  part_.offset = part_.bytes;
  part_.slot = 1;
  send_part(part_.bytes);
  EXPECT_FALSE(channel_->lost().has_value());
  EXPECT_TRUE(channel_->take_result(room_));
  EXPECT_TRUE(peer_.granted().in_parts);
}

TEST_P(AttackByPeer, PartsInTheWrongOrderAreHeardToo) {
  part_.offset = part_.bytes;
  send_part(part_.bytes);
  part_.offset = 0;
  send_part(part_.bytes);
  EXPECT_TRUE(channel_->take_result(room_));
}

TEST_P(AttackByPeer, APartTwiceIsNoWholeMessage) {
  send_part(part_.bytes);
  part_.slot = 1;
  send_part(part_.bytes);
  expect_refused();
}

// The only part ends its message, and with it the lease: a second one would write afterwards.
TEST_P(AttackByPeer, TheOnlyPartTwiceIsRefused) {
  packet_.length_bytes = part_.total = part_.bytes = 4096;
  devices_->set_pace(0);
  send_part(part_.bytes);
  part_.slot = 1;
  send_part(part_.bytes);
  devices_->set_pace(1 << 20);
  step();
  expect_refused();
}

TEST_P(AttackByPeer, ASlotInUseIsNotUsed) {
  devices_->set_pace(0);
  send_part(part_.bytes);
  part_.offset = part_.bytes;
  send_part(part_.bytes);
  devices_->set_pace(1 << 20);
  step();
  expect_refused();
}

TEST_P(AttackByPeer, SlotsThatAreNotAreRefused) {
  part_.slot = peer::kSlots;
  send_part(part_.bytes);
  expect_refused();
}

TEST_P(AttackByPeer, AWholePayloadForADeviceIsRefused) {
  std::array<std::byte, kMaxPacketHead> head;
  packet_.length_bytes = 100;
  const auto bytes = transport::encode(packet_, head);
  ASSERT_TRUE(raw_->send(std::span(head).first(bytes), payload_.data(), 100, 1));
  step();
  expect_refused();
}

TEST_P(AttackByPeer, AReceiveBufferThatIsNotThereIsNotRead) {
  part_.landed = true;
  send_part(0);
  expect_refused();
}

TEST_P(AttackByPeer, APartThatNothingTellsOfIsNotWaitedFor) {
  part_.landed = part_.told = true;
  part_.number = 1;
  send_part(0);
  expect_refused();
}

TEST_P(AttackByPeer, PartsThatLieAboutTheirBytesAreRefused) {
  send_part(part_.bytes - 1);
  expect_refused();
}

TEST_P(AttackByPeer, PartsThatDisagreeAreRefused) {
  send_part(part_.bytes);
  part_.slot = 1;
  part_.offset = part_.bytes;
  part_.total += part_.bytes;
  send_part(part_.bytes);
  expect_refused();
}

TEST_P(AttackByPeer, FreeingAFreeSlotIsRefused) {
  peer::HeadBuffer head;
  const auto bytes = peer::encode(peer::FreeSlots{1, 0}, head);
  ASSERT_TRUE(raw_->send(std::span(head).first(bytes), nullptr, 0, kNoOp));
  step();
  expect_refused();
}

TEST_P(AttackByPeer, MessagesThatNeverEndAreBounded) {
  packet_.lease = 0;  // refused, so that their slots are free again at once
  for (int i = 0; i < 1000 && !channel_->lost(); ++i) {
    part_.message = packet_.request = static_cast<std::uint64_t>(100 + i);
    part_.total = std::uint64_t{1} << 40;
    send_part(part_.bytes);
  }
  expect_refused();
}

TEST_P(AttackByPeer, WhatTheOwnerRefusesIsNotPlaced) {
  packet_.length_bytes = part_.total - 1;
  send_part(part_.bytes);
  EXPECT_FALSE(channel_->lost().has_value());
  EXPECT_EQ(channel_->stats().refused, 1U);
  EXPECT_TRUE(all_zero({memory_, 0, memory_.size()}));
}

INSTANTIATE_TEST_SUITE_P(Ends, AttackByPeer, ::testing::Bool(), [](const auto& which) {
  return which.param ? std::string("with_a_card") : std::string("staging");
});

// Who reads words must not be made to fault by whoever shares them.
TEST(Words, MemoryThatCanBeCutShortIsRefused) {
  WithDevices devices;
  const auto ours = peer::Words::make(*devices);
  ASSERT_TRUE(ours) << ours.error().to_string();
  EXPECT_NE(::ftruncate((*ours)->fd(), 0), 0);
  const auto read = peer::Words::open(base::FileDescriptor(::dup((*ours)->fd())));
  ASSERT_TRUE(read) << read.error().to_string();
  *(*ours)->device_word(31) = 77;
  EXPECT_EQ((*read)->read(31), 77U);
  EXPECT_EQ((*read)->read(30), 0U);

  const base::FileDescriptor loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), 4096), 0);
  EXPECT_FALSE(peer::Words::open(loose));
  const base::FileDescriptor small(::memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(small.get(), 64), 0);
  ASSERT_EQ(::fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(peer::Words::open(small));
  EXPECT_FALSE(peer::Words::open(base::FileDescriptor()));
}

TEST(Parts, ATellingHeadComesBackAsItWas) {
  peer::PartHead part;
  part.landed = part.told = true;
  part.number = 0x89abcdef;
  part.slot = 31;
  part.arrivals = 64;
  part.total = part.part_bytes = part.bytes = 4096;
  peer::HeadBuffer head;
  const std::array<std::byte, 1> packet{};
  const auto bytes = peer::encode(part, packet, head);
  const auto back = peer::decode_part(std::span(head).first(bytes));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->landed && back->told);
  EXPECT_EQ(back->number, part.number);
  EXPECT_EQ(back->slot, part.slot);
  EXPECT_EQ(back->arrivals, part.arrivals);
  head[1] = std::byte{1};  // a number that nothing tells
  EXPECT_FALSE(peer::decode_part(std::span(head).first(bytes)));
  std::fill_n(&head[4], 4, std::byte{0});  // words that nothing tells
  EXPECT_FALSE(peer::decode_part(std::span(head).first(bytes)));
  head[1] = std::byte{3};
  EXPECT_FALSE(peer::decode_part(std::span(head).first(bytes)));
}

TEST(Parts, NoBytesAreAPartThatMakesNoSense) {
  std::uint64_t state = 1;
  const auto random = [&] { return state = state * 6364136223846793005U + 1442695040888963407U; };
  int good = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::array<std::byte, peer::kPartHeadBytes> head{};
    for (std::size_t at = 8; at < head.size(); at += 8) {
      const std::uint64_t word = (random() >> 33) % 9 * 4096;
      std::memcpy(&head[at], &word, sizeof word);
    }
    const auto part = peer::decode_part(head);
    if (!part) continue;
    ++good;
    ASSERT_LE(part->offset + part->bytes, part->total);
    ASSERT_LE(part->bytes, part->part_bytes);
    ASSERT_EQ(part->offset % part->part_bytes, 0U);
  }
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace framewire::transport::testing
