// Packets and payloads of every size through memory that both ends map: they come in the order in
// which they were sent, and a peer that breaks the rules of the ring is left.
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <base/file_descriptor.hpp>
#include <memory>
#include <random>
#include <string>
#include <transport/bytes.hpp>
#include <transport/shared/link.hpp>
#include <vector>

namespace framewire::transport::testing {
namespace {

using shared::RingLayout;

constexpr shared::RingKey kLinkKey{std::byte{7}};
constexpr std::uint64_t kPutHead = 31;
constexpr std::size_t kRoom = std::size_t{3} << 20;

class Watched final : public Lifeline {
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
    if (packet.kind == PacketKind::kNotice) {
      ++notices;
      return {};
    }
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
  void on_sent(LinkOp, bool ok) override { (ok ? sent : not_sent) += 1; }
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
  int not_sent = 0;
  int notices = 0;
  int good_before_lost = 0;
  std::optional<Status> lost;
};

class SharedLink : public ::testing::Test {
 protected:
  void SetUp() override {
    auto near = shared::PacketRingReader::make(kLinkKey).value();
    auto far = shared::PacketRingReader::make(kLinkKey).value();
    const base::FileDescriptor file(::dup(near.fd()));
    auto to_near = shared::PacketRingWriter::open(file, kLinkKey).value();
    auto to_far =
        shared::PacketRingWriter::open(base::FileDescriptor(::dup(far.fd())), kLinkKey).value();
    memory_ = shared::SealedMemory::open(file, sizeof(RingLayout), true).value();
    near_ = shared::make_shared_link(std::move(near), std::move(to_far),
                                     std::make_unique<Watched>(far_gone_));
    far_ = shared::make_shared_link(std::move(far), std::move(to_near),
                                    std::make_unique<Watched>(near_gone_));
    near_->attach(&near_sink_);
    far_->attach(&far_sink_);
  }
  void TearDown() override {
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
  // The memory that the near end reads, as another process has it.
  RingLayout& ring() { return *reinterpret_cast<RingLayout*>(memory_.data()); }
  static std::size_t head_of(std::uint64_t number, std::uint64_t bytes,
                             std::array<std::byte, kMaxPacketHead>& head) {
    Packet packet;
    packet.kind = PacketKind::kPut;
    packet.request = number;
    packet.length_bytes = bytes;
    return encode(packet, head);
  }
  // The first part of a payload that has more.
  static void begin_long(RingLayout& memory, std::uint64_t total = 20'000,
                         std::uint64_t number = 1) {
    std::array<std::byte, kMaxPacketHead> head;
    const std::size_t bytes = head_of(number, total, head);
    EXPECT_EQ(bytes, kPutHead);
    auto& slot = memory.slots[(number - 1) % RingLayout::kSlots];
    std::copy_n(head.begin(), bytes, slot.beside.begin());
    store(slot.beside.data() + bytes, total);
    slot.word = number | (RingLayout::kLong | bytes) << 32 | std::uint64_t{8192} << 48;
  }

  bool near_gone_ = false;
  bool far_gone_ = false;
  Listening near_sink_;  // before the links, which use them to their end
  Listening far_sink_;
  std::unique_ptr<Link> near_;
  std::unique_ptr<Link> far_;
  shared::SealedMemory memory_;
};

TEST_F(SharedLink, PacketsComeInTheOrderInWhichTheyWereSent) {
  EXPECT_EQ(far_->path().name, "shared memory");
  std::mt19937 random(5);
  const std::size_t sizes[] = {0,      1,       100,     5000,      8192, 8193,
                               60'000, 262'144, 262'145, 1'000'000, kRoom};
  std::vector<std::byte> payload(kRoom);
  std::vector<std::uint64_t> sent;
  int placed = 0;
  for (std::uint64_t number = 1; number <= 2000; ++number) {
    const std::size_t size = sizes[random() % std::size(sizes)];
    bool gone = false;
    if (size <= kMaxShortBytes && random() % 2 == 0) {
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

// Bytes arrive as they were, both ways at once, from and to places of any alignment.
TEST_F(SharedLink, LongPayloadsOfBothEndsComeWhole) {
  std::mt19937 random(6);
  std::vector<std::byte> one(kRoom);
  std::vector<std::byte> other(kRoom);
  std::generate(one.begin(), one.end(), [&] { return static_cast<std::byte>(random()); });
  std::generate(other.begin(), other.end(), [&] { return static_cast<std::byte>(random()); });
  for (const std::size_t shift : {0, 1, 63}) {
    const std::size_t size = kRoom - 100 - shift;
    std::array<std::byte, kMaxPacketHead> head;
    const std::size_t bytes = head_of(1, size, head);
    near_sink_.good = far_sink_.good = near_sink_.sent = 0;
    ASSERT_TRUE(near_->send(std::span(head).first(bytes), one.data() + shift, size, 1));
    ASSERT_TRUE(far_->send(std::span(head).first(bytes), other.data() + shift, size, 1));
    EXPECT_EQ(near_sink_.sent, 0);
    for (int i = 0; i < 10'000 && near_sink_.good + far_sink_.good < 2; ++i) step();
    EXPECT_EQ(near_sink_.sent, 1);
    EXPECT_TRUE(
        std::equal(far_sink_.room.begin(), far_sink_.room.begin() + size, one.begin() + shift));
    EXPECT_TRUE(
        std::equal(near_sink_.room.begin(), near_sink_.room.begin() + size, other.begin() + shift));
  }
}

// Grants and acknowledgements do not wait for what is long in coming.
TEST_F(SharedLink, ANoticePassesLongPayloads) {
  const std::vector<std::byte> payload(kRoom);
  std::array<std::byte, kMaxPacketHead> head;
  const std::size_t bytes = head_of(1, payload.size(), head);
  for (std::size_t i = 0; i < RingLayout::kMaxBegun + 8; ++i) {
    ASSERT_TRUE(far_->send(std::span(head).first(bytes), payload.data(), payload.size(), 1));
  }
  Packet notice;
  std::array<std::byte, kMaxPacketHead> small;
  const std::size_t small_bytes = encode(notice, small);
  ASSERT_TRUE(far_->send(std::span(small).first(small_bytes), nullptr, 0, kNoOp));
  for (int i = 0; i < 20 && near_sink_.notices == 0; ++i) step();
  EXPECT_EQ(near_sink_.notices, 1);
  EXPECT_EQ(near_sink_.good, 0);
}

TEST_F(SharedLink, WhatWasSentBeforeThePeerWentIsStillTaken) {
  std::vector<std::byte> payload(RingLayout::kBodyBytes * (RingLayout::kSlots - 8));
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

// After close() neither end touches what had been given to it.
TEST_F(SharedLink, WhatIsOnItsWayIsLetGoOfAtTheEnd) {
  std::vector<std::byte> payload(kRoom, std::byte{1});
  std::array<std::byte, kMaxPacketHead> head;
  const std::size_t bytes = head_of(1, payload.size(), head);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(far_->send(std::span(head).first(bytes), payload.data(), payload.size(), 1));
  }
  step();
  far_->close();
  near_->close();
  const auto room = near_sink_.room;
  std::fill(payload.begin(), payload.end(), std::byte{2});
  EXPECT_FALSE(far_->send(std::span(head).first(bytes), payload.data(), payload.size(), 1));
  EXPECT_FALSE(far_->ready());
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(far_sink_.not_sent, 3);
  EXPECT_EQ(near_sink_.good, 0);
  EXPECT_EQ(near_sink_.bad, near_sink_.placed);
  EXPECT_GT(near_sink_.bad, 0);
  EXPECT_EQ(near_sink_.room, room);
}

using SharedLinkAttack = SharedLink;

TEST_F(SharedLinkAttack, APayloadThatNeverEndsIsLetGoOfWithTheConnection) {
  begin_long(ring());
  for (int i = 0; i < 10; ++i) near_->progress();
  EXPECT_EQ(near_sink_.placed, 1);
  EXPECT_EQ(near_sink_.good + near_sink_.bad, 0);
  near_->close();
  for (int i = 0; i < 10; ++i) near_->progress();
  EXPECT_EQ(near_sink_.bad, 1);
}

TEST_F(SharedLinkAttack, PartsThatMakeNoPayloadEndTheConnection) {
  struct Lie {
    const char* what;
    bool begun;
    std::uint64_t kind;
    std::uint64_t bytes;
    std::uint64_t total = 20'000;
  };
  const Lie lies[] = {{"a part of nothing", false, RingLayout::kMore, 100},
                      {"an empty part", true, RingLayout::kMore, 0},
                      {"a part longer than what is left", true, RingLayout::kMore, 8192, 9'000},
                      {"a beginning without a byte", true, RingLayout::kLong | kPutHead, 0},
                      {"a size that cannot be", false, RingLayout::kMore, 8193}};
  for (const Lie& lie : lies) {
    TearDown();
    near_sink_ = {};
    SetUp();
    RingLayout& memory = ring();
    if (lie.begun) begin_long(memory, lie.total);
    const std::uint64_t number = lie.begun ? 2 : 1;
    begin_long(memory, lie.total, number + 1);  // for what follows: nobody gets so far
    memory.slots[number - 1].beside = memory.slots[number].beside;
    memory.slots[number - 1].word = number | lie.kind << 32 | lie.bytes << 48;
    for (int i = 0; i < 10; ++i) near_->progress();
    ASSERT_TRUE(near_sink_.lost) << lie.what;
    EXPECT_EQ(near_sink_.lost->code(), StatusCode::kInvalidInput) << lie.what;
    near_->close();
    near_->progress();
    EXPECT_EQ(near_sink_.bad, lie.begun ? 1 : 0) << lie.what;
  }
}

TEST_F(SharedLinkAttack, MorePartsThanWereSaidEndTheConnection) {
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

// Each payload that a peer has begun costs the reader a few bytes, so their number is bounded.
TEST_F(SharedLinkAttack, MorePayloadsBegunThanAreAllowedEndTheConnection) {
  RingLayout& memory = ring();
  for (std::uint64_t number = 1; number <= RingLayout::kMaxBegun + 1; ++number) {
    begin_long(memory, 20'000, number);
    near_->progress();
  }
  EXPECT_EQ(near_sink_.placed, static_cast<int>(RingLayout::kMaxBegun));
  ASSERT_TRUE(near_sink_.lost);
  EXPECT_EQ(near_sink_.lost->code(), StatusCode::kInvalidInput);
  EXPECT_EQ(near_sink_.bad, near_sink_.placed);
}

// A reader's count of what it has taken is used for nothing but where the writer writes in the
// ring.
TEST_F(SharedLinkAttack, ALieAboutRoomHarmsWhoLies) {
  const std::vector<std::byte> payload(kRoom);
  std::array<std::byte, kMaxPacketHead> head;
  const std::size_t bytes = head_of(1, payload.size(), head);
  std::mt19937_64 random(9);
  for (int i = 0; i < 200; ++i) {
    ring().taken = random();
    ASSERT_TRUE(far_->send(std::span(head).first(bytes), payload.data(), payload.size(), 1));
    far_->progress();
  }
  ring().taken = 0;
}

}  // namespace
}  // namespace framewire::transport::testing
