// Packets by two ways, a ring and UCX: they come in the order in which they were sent, and a peer
// that breaks the rules of the ring is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include "transport/bytes.hpp"
#include "transport/shared/packet_ring.hpp"
#include "transport/ucx/port.hpp"

namespace framewire::transport::testing {
namespace {

using shared::RingLayout;

constexpr std::size_t kRoom = std::size_t{1} << 20;

class Watched final : public ucx::Lifeline {
 public:
  explicit Watched(const bool& gone) : gone_(gone) {}
  Result<void> check() override {
    if (!gone_) return {};
    return fail(StatusCode::kPeerLost, "the peer has gone");
  }

 private:
  const bool& gone_;
};

// Gives every payload the same place, and keeps what it is told, in order.
class Listening final : public LinkSink {
 public:
  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override {
    Packet packet;
    EXPECT_TRUE(decode(head, packet));
    numbers.push_back(packet.request);
    placed += payload_bytes > 0 ? 1 : 0;
    if (payload_bytes > kRoom || payload_bytes == 0) return {};
    return {room.data(), 3};
  }
  void on_short(const ShortPut& put, std::span<const std::byte> payload) override {
    numbers.push_back(put.request);
    EXPECT_TRUE(std::all_of(payload.begin(), payload.end(), [&](std::byte byte) {
      return byte == static_cast<std::byte>(put.request);
    }));
  }
  void on_received(LinkOp op, bool ok) override {
    EXPECT_EQ(op, 3U);
    (ok ? good : bad) += 1;
  }
  void on_sent(LinkOp, bool) override { ++sent; }
  void on_lost(const Status& status) override {
    lost = status;
    good_before_lost = good;
  }

  std::vector<std::byte> room = std::vector<std::byte>(kRoom);
  std::vector<std::uint64_t> numbers;
  int placed = 0;
  int good = 0;
  int bad = 0;
  int sent = 0;
  int good_before_lost = 0;
  std::optional<Status> lost;
};

class RingLink : public ::testing::Test {
 protected:
  void SetUp() override {
    auto near = ucx::make_port(ucx::Lanes::kShared, "");
    if (!near) GTEST_SKIP() << near.error().to_string();
    auto far = ucx::make_port(ucx::Lanes::kShared, "").value();
    near_blob_ = (*near)->blob();
    const auto far_blob = far->blob();
    near_ = (*near)->join(far_blob, std::make_unique<Watched>(far_gone_), {}).value();
    far_ = far->join(near_blob_, std::make_unique<Watched>(near_gone_), {}).value();
    near_->attach(&near_sink_);
    far_->attach(&far_sink_);
  }
  void TearDown() override {
    if (near_ == nullptr) return;
    near_->close();
    far_->close();
    for (int i = 0; i < 100; ++i) step();
    near_.reset();
    far_.reset();
  }
  void step() {
    near_->progress();
    far_->progress();
  }
  // The memory that the near end reads, as another process finds it.
  RingLayout& ring() {
    const auto process = load<std::uint32_t>(&near_blob_[17]);
    const auto file = load<std::int32_t>(&near_blob_[21]);
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
    const wire::Socket opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    memory_ = shared::SealedMemory::open(opened, sizeof(RingLayout), true).value();
    return *reinterpret_cast<RingLayout*>(memory_.data());
  }
  static std::size_t head_of(std::uint64_t number, std::uint64_t bytes,
                             std::array<std::byte, kMaxPacketHead>& head) {
    Packet packet;
    packet.kind = PacketKind::kPut;
    packet.request = number;
    packet.length_bytes = bytes;
    return encode(packet, head);
  }
  // Without a body's end: the first part of a payload of 20,000 bytes.
  void begin_long(RingLayout& memory) {
    std::array<std::byte, kMaxPacketHead> head;
    const std::size_t bytes = head_of(1, 20'000, head);
    std::copy_n(head.begin(), bytes, memory.slots[0].beside.begin());
    store(memory.slots[0].beside.data() + bytes, std::uint64_t{20'000});
    memory.slots[0].word = 1 | (RingLayout::kLong | bytes) << 32 | std::uint64_t{8192} << 48;
  }

  bool near_gone_ = false;
  bool far_gone_ = false;
  Listening near_sink_;  // before the links, which use them to their end
  Listening far_sink_;
  std::vector<std::byte> near_blob_;
  std::unique_ptr<Link> near_;
  std::unique_ptr<Link> far_;
  shared::SealedMemory memory_;
};

TEST_F(RingLink, PacketsComeInTheOrderInWhichTheyWereSent) {
  EXPECT_NE(far_->path().name.find("ring"), std::string::npos);
  std::mt19937 random(5);
  const std::size_t sizes[] = {0, 1, 100, 5000, 8192, 8193, 60'000, 262'144, 262'145, 1'000'000};
  std::vector<std::byte> payload(kRoom);
  std::vector<std::uint64_t> sent;
  int placed = 0;
  for (std::uint64_t number = 1; number <= 3000; ++number) {
    const std::size_t size = sizes[random() % std::size(sizes)];
    bool gone = false;
    if (size <= kMostShortBytes && random() % 2 == 0) {
      std::fill_n(payload.begin(), size, static_cast<std::byte>(number));
      ShortPut put;
      put.request = number;
      gone = far_->send_short(put, std::span(payload).first(size));
    }
    if (!gone) {
      std::array<std::byte, kMaxPacketHead> head;
      const std::size_t bytes = head_of(number, size, head);
      ASSERT_TRUE(far_->send(std::span(head).first(bytes), payload.data(), size, 1));
      placed += size > 0 ? 1 : 0;
    }
    sent.push_back(number);
    if (random() % 4 == 0) near_->progress();
    if (random() % 4 == 0) far_->progress();
    if (number % 100 == 0) {  // so that rings are full at times
      for (int i = 0; i < 200'000 && near_sink_.numbers.size() < sent.size(); ++i) step();
    }
  }
  for (int i = 0; i < 200'000 && near_sink_.good < placed; ++i) step();
  EXPECT_EQ(near_sink_.numbers, sent);
  EXPECT_EQ(near_sink_.placed, placed);
  EXPECT_EQ(near_sink_.good, placed);
  EXPECT_EQ(near_sink_.bad, 0);
}

// More than is read at once, and then its sender is gone.
TEST_F(RingLink, WhatWasSentBeforeThePeerWentIsStillTaken) {
  std::vector<std::byte> payload(RingLayout::kMostBytes);
  std::array<std::byte, kMaxPacketHead> head;
  const std::size_t bytes = head_of(1, payload.size(), head);
  // The next round is the one in thousands that looks.
  for (int i = 0; i < 4095; ++i) near_->progress();
  far_gone_ = true;
  ASSERT_TRUE(far_->send(std::span(head).first(bytes), payload.data(), payload.size(), 1));
  near_->progress();
  ASSERT_TRUE(near_sink_.lost);
  EXPECT_EQ(near_sink_.good_before_lost, 1);
}

TEST_F(RingLink, APayloadThatNeverEndsIsLetGoOfWithTheConnection) {
  begin_long(ring());
  for (int i = 0; i < 10; ++i) near_->progress();
  EXPECT_EQ(near_sink_.placed, 1);
  EXPECT_EQ(near_sink_.good + near_sink_.bad, 0);
  near_->close();
  for (int i = 0; i < 10; ++i) near_->progress();
  EXPECT_EQ(near_sink_.bad, 1);
}

TEST_F(RingLink, PartsThatMakeNoPayloadEndTheConnection) {
  struct Lie {
    const char* what;
    bool begun;
    std::uint64_t kind;
    std::uint64_t bytes;
  };
  const Lie lies[] = {{"a part of nothing", false, RingLayout::kMore, 100},
                      {"an empty part", true, RingLayout::kMore, 0},
                      {"a packet within a payload", true, kMinPacketHead, 0},
                      {"a short put within a payload", true, RingLayout::kShort, 0},
                      {"a size that cannot be", false, RingLayout::kMore, 8193}};
  for (const Lie& lie : lies) {
    TearDown();
    near_sink_ = {};
    SetUp();
    RingLayout& memory = ring();
    if (lie.begun) begin_long(memory);
    const std::uint64_t number = lie.begun ? 2 : 1;
    memory.slots[number - 1].word = number | lie.kind << 32 | lie.bytes << 48;
    for (int i = 0; i < 10; ++i) near_->progress();
    ASSERT_TRUE(near_sink_.lost) << lie.what;
    EXPECT_EQ(near_sink_.lost->code(), StatusCode::kInvalidInput) << lie.what;
    near_->close();
    near_->progress();
    EXPECT_EQ(near_sink_.bad, lie.begun ? 1 : 0) << lie.what;
  }
}

TEST_F(RingLink, MorePartsThanWereSaidEndTheConnection) {
  RingLayout& memory = ring();
  begin_long(memory);
  for (const std::uint64_t number : {2, 3}) {  // 24,576 bytes, where 20,000 were said
    memory.slots[number - 1].word = number | RingLayout::kMore << 32 | std::uint64_t{8192} << 48;
  }
  for (int i = 0; i < 10; ++i) near_->progress();
  ASSERT_TRUE(near_sink_.lost);
  near_->close();
  near_->progress();
  EXPECT_EQ(near_sink_.bad, 1);
  EXPECT_EQ(near_sink_.good, 0);
}

}  // namespace
}  // namespace framewire::transport::testing
