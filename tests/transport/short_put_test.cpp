// Puts in the short form, as a peer may forge them: each attack that the other form answers, again.
#include <gtest/gtest.h>
#include <algorithm>
#include <tests/transport/fake_device.hpp>
#include <tests/transport/played_peer.hpp>
#include <thread>
#include <transport/channel.hpp>
#include <transport/transfer_table.hpp>

namespace framewire::transport::testing {
namespace {

constexpr std::uint32_t kEpoch = 7;
constexpr std::size_t kBytes = 1000;

// Takes short puts, and keeps what the channel has sent last.
class ShortLink final : public Link {
 public:
  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind) const override { return true; }
  bool in_parts(MemoryKind kind) const override { return kind != MemoryKind::kHost; }
  bool ready() const override { return true; }
  Result<void> send(std::span<const std::byte> head, const std::byte*, std::uint64_t,
                    LinkOp) override {
    EXPECT_TRUE(decode(head, last));
    told.insert(told.end(), last.records.begin(), last.records.begin() + last.record_count);
    return {};
  }
  bool send_short(const ShortPut& put, std::span<const std::byte> payload) override {
    if (!room) return false;
    puts.push_back(put);
    payloads.emplace_back(payload.begin(), payload.end());
    return true;
  }
  bool progress() override { return false; }
  void wait(int) override {}
  void close() override {}
  PathReport path() const override { return {"short", 0, Reach::kNone, {}}; }

  LinkSink* sink_ = nullptr;
  bool room = true;
  Packet last;
  std::vector<Record> told;
  std::vector<ShortPut> puts;
  std::vector<std::vector<std::byte>> payloads;
};

class ShortPuts : public ::testing::Test {
 protected:
  ShortPuts() {
    auto link = std::make_unique<ShortLink>();
    link_ = link.get();
    channel_ = std::make_unique<core::Channel>(std::move(link), PlayedPeer::config());
  }
  // A lease of so many bytes in the middle of the memory.
  Transfer offer(std::uint64_t bytes = kBytes, const OfferOptions& options = {}) {
    offer_ = channel_->offer(memory_, kBytes, bytes, options).value();
    granted_ = last_told(RecordKind::kGrant).id;
    return offer_;
  }
  // Lets what waits for another packet go out by itself.
  void tell() {
    for (int i = 0; i < 200; ++i) channel_->progress();
  }
  void put(const ShortPut& put, std::size_t bytes) {
    link_->sink_->on_short(put, std::span<const std::byte>(payload_).first(bytes));
  }
  [[nodiscard]] ShortPut honest(std::uint64_t request = 1) const {
    ShortPut put;
    put.epoch = kEpoch;
    put.request = request;
    put.lease = granted_;
    return put;
  }
  // The last of that kind that the peer was told.
  Record last_told(RecordKind kind) {
    tell();
    for (auto record = link_->told.rbegin(); record != link_->told.rend(); ++record) {
      if (record->kind == kind) return *record;
    }
    ADD_FAILURE() << "the peer was told nothing of the kind";
    return {};
  }
  Reason answer() { return last_told(RecordKind::kAck).reason; }
  [[nodiscard]] bool untouched() const {
    const auto bytes = memory_.bytes();
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }
  // A put that must leave no trace but its answer.
  void expect_refused(const ShortPut& forged, std::size_t bytes, Reason reason) {
    const auto refused = channel_->stats().refused;
    put(forged, bytes);
    EXPECT_EQ(answer(), reason);
    EXPECT_EQ(channel_->stats().refused, refused + 1);
    EXPECT_TRUE(untouched());
  }

  Region memory_ = Region::allocate_host(4 * kBytes).value();
  std::vector<std::byte> payload_ = std::vector<std::byte>(2 * kBytes, std::byte{9});
  std::unique_ptr<core::Channel> channel_;
  ShortLink* link_ = nullptr;
  Transfer offer_;
  std::uint64_t granted_ = 0;
};

TEST_F(ShortPuts, AnHonestOneLandsWhereItWasOffered) {
  offer();
  put(honest(), 10);
  ASSERT_TRUE(channel_->done(offer_));
  EXPECT_EQ(channel_->take_result(offer_)->length_bytes, 10U);
  EXPECT_EQ(answer(), Reason::kNone);
  const auto bytes = memory_.bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{9}), 10);
  EXPECT_EQ(bytes[kBytes], std::byte{9});
  EXPECT_FALSE(memory_.in_use());
}

TEST_F(ShortPuts, ForgedLeasesAreRefused) {
  offer();
  ShortPut forged = honest(1);
  forged.lease += 1 << 16;  // a later use of the slot
  expect_refused(forged, 10, Reason::kUnknownLease);
  forged = honest(2);
  forged.lease ^= 1;
  expect_refused(forged, 10, Reason::kUnknownLease);
  forged = honest(3);
  forged.lease |= 0xffff;
  expect_refused(forged, 10, Reason::kUnknownLease);
  forged = honest(4);
  forged.epoch = kEpoch - 1;
  expect_refused(forged, 10, Reason::kOldEpoch);
  EXPECT_FALSE(channel_->done(offer_));
}

TEST_F(ShortPuts, ALeaseStaysInItsBoundsAndWorksOnce) {
  offer();
  expect_refused(honest(1), kBytes + 1, Reason::kOutOfBounds);
  put(honest(2), 0);
  EXPECT_TRUE(channel_->done(offer_));
  expect_refused(honest(3), 10, Reason::kUsed);
}

TEST_F(ShortPuts, ALeaseToReadIsNoneToWrite) {
  OfferOptions options;
  options.direction = Direction::kGet;
  offer(kBytes, options);
  expect_refused(honest(), 10, Reason::kWrongDirection);
}

TEST_F(ShortPuts, AnExpiredOrRevokedLeaseIsRefused) {
  OfferOptions options;
  options.ttl_ms = 1;
  ASSERT_TRUE(channel_->offer(memory_, kBytes, kBytes, options));
  granted_ = lease_id(0, 1);
  tell();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // more than a tick of the clock
  expect_refused(honest(1), 10, Reason::kExpired);
  channel_->idle(0);
  offer();
  ASSERT_TRUE(channel_->revoke(offer_));
  tell();
  expect_refused(honest(2), 10, Reason::kRevoked);
}

TEST_F(ShortPuts, ARequestIsTakenOnce) {
  offer();
  put(honest(), 10);
  static_cast<void>(channel_->take_result(offer_));
  std::fill(memory_.bytes().begin(), memory_.bytes().end(), std::byte{0});
  offer();
  put(honest(), 10);  // under the new lease, but the old number
  EXPECT_FALSE(channel_->done(offer_));
  EXPECT_EQ(channel_->stats().duplicates, 1U);
  EXPECT_TRUE(untouched());
}

TEST_F(ShortPuts, AnEmptyRegionTakesNothing) {
  offer_ = channel_->offer(Region(), 0, 0).value();
  granted_ = lease_id(offer_.index, offer_.generation);
  tell();
  put(honest(1), 1);
  EXPECT_EQ(answer(), Reason::kOutOfBounds);
  put(honest(2), 0);
  EXPECT_TRUE(channel_->done(offer_));
}

TEST_F(ShortPuts, DeviceMemoryIsNotWrittenByTheHost) {
  const Region device = Region::allocate_device(FakeDevices::get(), 0, 4 * kBytes).value();
  offer_ = channel_->offer(device, 0, kBytes).value();
  granted_ = lease_id(offer_.index, offer_.generation);
  put(honest(), 10);
  ASSERT_TRUE(channel_->lost());
  EXPECT_EQ(channel_->lost()->code(), StatusCode::kInvalidInput);
}

// What rides along counts in its own epoch only, and names what there is.
TEST_F(ShortPuts, RecordsThatRideAlongAreCheckedAsOthersAre) {
  ShortPut forged = honest();
  forged.flags = 0xff;
  forged.grant = lease_id(3, 1);
  forged.grant_ms = 1000;
  forged.grant_bytes = 10;
  forged.ack = 77;
  forged.ack_count = 0xffff;
  ShortPut stale = forged;
  stale.epoch = kEpoch + 1;
  put(stale, 0);
  EXPECT_EQ(channel_->credits(Direction::kGet), 0U);
  put(forged, 0);
  EXPECT_EQ(channel_->credits(Direction::kGet), 1U);
  forged.request = 2;
  put(forged, 0);  // the same grant again
  EXPECT_EQ(channel_->credits(Direction::kGet), 1U);
  forged.request = 3;
  forged.grant = lease_id(0xffff, 1);  // a slot that the peer does not have
  put(forged, 0);
  EXPECT_EQ(channel_->credits(Direction::kGet), 1U);
  EXPECT_FALSE(channel_->lost());
}

class ShortSends : public ShortPuts {
 protected:
  ShortSends() {
    ShortPut grants;
    grants.epoch = kEpoch;
    grants.request = 1;
    grants.flags = ShortPut::kGrant;
    grants.grant = lease_id(0, 1);
    grants.grant_ms = 10'000;
    grants.grant_bytes = kBytes;
    put(grants, 0);
    tell();  // the refusal of the put that brought it
    lease_ = channel_->take_lease(Direction::kPut).value();
    std::fill(memory_.bytes().begin(), memory_.bytes().end(), std::byte{5});
  }
  Lease lease_;
};

TEST_F(ShortSends, ASmallPutGoesOutAndIsDoneWithItsMemory) {
  const auto put = channel_->put(lease_, memory_, 100, 50);
  ASSERT_TRUE(put);
  ASSERT_EQ(link_->puts.size(), 1U);
  EXPECT_EQ(link_->puts[0].lease, lease_.id);
  EXPECT_EQ(link_->payloads[0], std::vector<std::byte>(50, std::byte{5}));
  EXPECT_FALSE(memory_.in_use());
  EXPECT_FALSE(channel_->done(*put));
  ShortPut confirms = honest(2);
  confirms.ack = link_->puts[0].request;
  confirms.ack_count = 1;
  this->put(confirms, 0);
  ASSERT_TRUE(channel_->done(*put));
  EXPECT_EQ(channel_->take_result(*put)->length_bytes, 50U);
}

TEST_F(ShortSends, MemoryThatIsBeingWrittenIsNotSent) {
  ASSERT_TRUE(channel_->offer(memory_, 100, 50));
  ASSERT_TRUE(channel_->offer(memory_, 1000, 50));
  tell();
  const auto put = channel_->put(lease_, memory_, 149, 2);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), StatusCode::kBusy);
  EXPECT_TRUE(channel_->put(lease_, memory_, 150, 850));  // between the two
  EXPECT_EQ(link_->payloads.size(), 1U);
}

TEST_F(ShortSends, WhatIsNotPlainTakesTheLongWay) {
  TransferOptions note;
  const std::array<std::byte, 3> words{};
  note.note = words;
  EXPECT_TRUE(channel_->put(lease_, memory_, 0, 10, note));
  TransferOptions checksum;
  checksum.checksum = true;
  EXPECT_TRUE(channel_->put(lease_, memory_, 0, 10, checksum));
  TransferOptions offset;
  offset.offset_bytes = 4;
  EXPECT_TRUE(channel_->put(lease_, memory_, 0, 10, offset));
  EXPECT_EQ(link_->last.offset_bytes, 4U);
  Lease in_parts = lease_;
  in_parts.in_parts = true;
  EXPECT_TRUE(channel_->put(in_parts, memory_, 0, 10));
  link_->room = false;
  EXPECT_TRUE(channel_->put(lease_, memory_, 0, 10));
  EXPECT_TRUE(link_->puts.empty());
  const auto outside = channel_->put(lease_, memory_, 4 * kBytes - 1, 10);
  EXPECT_EQ(outside.error().code(), StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace framewire::transport::testing
