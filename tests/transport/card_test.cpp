// Network cards that read and write device memory: what is told of them, and what a peer of theirs
// may try. What every link owes is in conformance_test.cpp and device_test.cpp ("card_…").
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>
#include <future>
#include <string>
#include <tests/transport/ends_test.hpp>
#include <tests/transport/fake_device.hpp>
#include <transport/device_copy.hpp>
#include <utility>
#ifdef FRAMEWIRE_HAS_UCX
#include <tests/transport/played_peer.hpp>
#include <tests/transport/ucx/attacks.hpp>
#include <transport/peer/device_link.hpp>
#include <transport/peer/parts.hpp>
#include <transport/ucx/direct.hpp>
#include <transport/ucx/port.hpp>
#include <transport/ucx/siphash.hpp>
#endif

namespace framewire::transport::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CardPath, GpudirectNeedsBothEnds) {
  PathReport path;
  path.name = "ucx rc_mlx5 on mlx5_0:1";
  path.why_staged = "mlx5_0:1 does not register memory of GPU 3";
  const auto neither = check_path(path, Requirement::kGpudirect);
  EXPECT_EQ(neither.error().code(), StatusCode::kUnsupported);
  EXPECT_THAT(neither.error().message(), HasSubstr("does not register memory of GPU 3"));
  EXPECT_THAT(neither.error().message(), HasSubstr("framewire doctor says what this machine"));
  path.peer_gpudirect = true;
  EXPECT_FALSE(check_path(path, Requirement::kGpudirect));

  path.gpudirect = true;
  path.why_staged.clear();
  EXPECT_TRUE(check_path(path, Requirement::kGpudirect));
  EXPECT_FALSE(check_path(path, Requirement::kP2p));
  path.peer_gpudirect = false;
  const auto ours_only = check_path(path, Requirement::kGpudirect);
  EXPECT_THAT(ours_only.error().message(), HasSubstr("(gpudirect: only at this end"));
  EXPECT_THAT(ours_only.error().message(), HasSubstr("framewire doctor says what the peer's"));
}

class Card : public EndsTest {
 protected:
  void SetUp() override { ends_ = connect_ends(GetParam()); }
  Region memory(int device) {
    return Region::allocate_device(*devices_, device, kFarBytes).value();
  }
  // Has the far end put as many bytes into a region.
  Result<Transfer> far_puts(const Region& region, std::uint64_t length) {
    auto room = near().offer(region, 0, length);
    EXPECT_TRUE(until([&] { return far("credits put") == "1"; }));
    far(fmt::format("fill 0 {} 3", length));
    sent_ = far(fmt::format("put {} 0 {} 0 10000 0", far("take put"), length));
    return room;
  }

  WithDevices devices_;
  std::string sent_;
};

TEST_P(Card, NothingIsStagedBothWays) {
  const Region region = memory(0);
  for (const std::uint64_t length : {1, 100, 5000, 524'288, 524'289, 3'000'001}) {
    ASSERT_TRUE(result(far_puts(region, length)));
    EXPECT_TRUE(holds({region, 0, length}, 3));
    EXPECT_EQ(far("result " + sent_), fmt::format("ok {} 0", length));
    fill({region, 0, length}, 4);
    ASSERT_TRUE(result(near().put(lease(Direction::kPut, 0, length), region, 0, length)));
    EXPECT_EQ(far(fmt::format("check 0 {} 4", length)), "yes");
  }
  EXPECT_EQ(near().path().staged_bytes, 0U);
  EXPECT_TRUE(check_path(near().path(), Requirement::kGpudirect));
}

// What the card has written must not be moved on before it is seen.
TEST_P(Card, WritesThatCannotBeSettledEndTheChannel) {
  const Region region = memory(0);
  devices_->set_settles(false);
  EXPECT_FALSE(result(far_puts(region, 5000)));
  ASSERT_TRUE(near().lost().has_value());
  EXPECT_EQ(near().lost()->code(), StatusCode::kUnsupported) << near().lost()->to_string();
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
  EXPECT_TRUE(all_zero({region, 0, kFarBytes}));
}

TEST_P(Card, SlotsAreMadeWhenUsedAndGivenBack) {
  const Region region = memory(0);
  const auto before = devices_->alive();
  ASSERT_TRUE(result(far_puts(region, 100)));
  EXPECT_EQ(devices_->alive(), before + 2);  // one at either end
  ASSERT_TRUE(result(far_puts(region, 100)));
  EXPECT_LE(devices_->alive(), before + 4);
  const auto room = far_puts(region, 3'000'000);
  for (int i = 0; i < 3; ++i) ends_->step();  // in the middle of it
  ends_.reset();
  EXPECT_EQ(devices_->alive(), before - 1);  // with the far end's region
}

INSTANTIATE_TEST_SUITE_P(Links, Card, ::testing::Values("card_gpus"),
                         [](const auto& which) { return which.param; });

#ifdef FRAMEWIRE_HAS_UCX
INSTANTIATE_TEST_SUITE_P(UcxLinks, Card, ::testing::Values("ucx_card_gpus"),
                         [](const auto& which) { return which.param; });

// Joins two ends over UCX's TCP, each of which waits for the other.
std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> join_ends(
    ucx::Port& one, const std::vector<std::byte>& told_one, ucx::Port& other,
    const std::vector<std::byte>& told_other) {
  const auto deadline = base::Clock::now() + std::chrono::seconds(10);
  auto joining = std::async(std::launch::async, [&] {
    return other.join(told_other, std::make_unique<Alive>(), deadline).value();
  });
  auto link = one.join(told_one, std::make_unique<Alive>(), deadline).value();
  return {std::move(link), joining.get()};
}

// UCX has been asked about one device; memory of others goes through the host.
TEST(UcxCard, RegionsOfAnotherDeviceAreStaged) {
  WithDevices devices;
  auto ends = connect_ends("ucx_card_gpus");
  const Region region = Region::allocate_device(*devices, 1, kFarBytes).value();
  fill({region, 0, 5000}, 7);
  EXPECT_TRUE(put_first(*ends, region, 5000));
  EXPECT_EQ(ends->far("check 0 5000 7"), "yes");
  EXPECT_EQ(ends->near().path().staged_bytes, 5000U);
}

TEST(UcxCard, WithoutCudaInUcxThePathSaysSo) {
  WithDevices devices;
  const ucx::DirectWish wish{&*devices, 0, ucx::DirectWish::Proof::kUcx};
  auto owner = ucx::make_port(ucx::Lanes::kTcp, "lo", ucx::PortSide::kListens, wish);
  ASSERT_TRUE(owner) << owner.error().to_string();
  auto peer = ucx::make_port(ucx::Lanes::kTcp, "lo").value();
  auto [link, far] = join_ends(**owner, peer->blob(), *peer, (*owner)->blob());
  const PathReport path = link->path();
  if (path.gpudirect) GTEST_SKIP() << "this UCX knows CUDA memory, of GPUs that are here";
  EXPECT_FALSE(path.peer_gpudirect);
  EXPECT_THAT(path.name, Not(HasSubstr("gpudirect")));
  EXPECT_THAT(path.why_staged, HasSubstr("UCX"));
  DeviceUse use;
  use.devices = &*devices;
  use.device = 0;
  EXPECT_FALSE(link->reaches(use));
}

TEST(UcxCard, AKeyThatOpensNothingIsNone) {
  // A map of two domains: the first copies only, the second's key has two bytes.
  std::array<std::byte, 13> packed{std::byte{0b101}};
  packed[8] = std::byte{UCS_MEMORY_TYPE_CUDA};
  packed[10] = std::byte{2};
  EXPECT_TRUE(ucx::holds_key(packed));
  for (std::size_t part = 0; part < packed.size(); ++part) {
    EXPECT_FALSE(ucx::holds_key(std::span(packed).first(part))) << part;
  }
  packed[10] = std::byte{0};
  EXPECT_FALSE(ucx::holds_key(packed));
  packed[0] = std::byte{0};
  packed[10] = std::byte{2};
  EXPECT_FALSE(ucx::holds_key(packed));
}

// A peer that says nothing of a card, and sends with the head what this end's card is to fetch.
class UcxCardAttack : public ::testing::Test {
 protected:
  void SetUp() override {
    const ucx::DirectWish wish{&*devices_, 0, ucx::DirectWish::Proof::kHost};
    auto ours = ucx::make_port(ucx::Lanes::kTcp, "lo", ucx::PortSide::kDials, wish).value();
    auto theirs = ucx::make_port(ucx::Lanes::kTcp, "lo").value();
    auto told = ours->blob();
    told[sizeof(ucx::MacKey)] = std::byte{0};  // it forgets that we have a card
    auto [link, raw] = join_ends(*ours, theirs->blob(), *theirs, told);
    raw_ = std::move(raw);
    raw_->attach(&peer_);
    channel_ = std::make_unique<Channel>(
        transport::make_channel(peer::make_device_link(std::move(link)), PlayedPeer::config()));
    room_ = channel_->offer(memory_, 0, 4096).value();
    while (peer_.granted().id == 0) step();
  }
  void TearDown() override {
    channel_.reset();
    raw_.reset();
  }
  void step() {
    channel_->progress();
    raw_->progress();
  }
  void send_along() {
    const Packet packet = peer_.put(payload_.size());
    std::array<std::byte, kMaxPacketHead> inner;
    const auto inner_bytes = transport::encode(packet, inner);
    peer::PartHead part;
    part.message = 1;
    part.total = part.part_bytes = part.bytes = payload_.size();
    peer::HeadBuffer head;
    const auto bytes = peer::encode(part, std::span(inner).first(inner_bytes), head);
    ASSERT_TRUE(raw_->send(std::span(head).first(bytes), payload_.data(), payload_.size(), 1));
  }

  WithDevices devices_;
  OpenDevices open_;
  Region memory_ = Region::allocate_device(*devices_, 0, 4096).value();
  std::vector<std::byte> payload_{4096, std::byte{7}};
  PlayedPeer peer_;
  std::unique_ptr<Link> raw_;
  std::unique_ptr<Channel> channel_;
  Transfer room_;
};

TEST_F(UcxCardAttack, WhatComesAlongIsNotCopiedToTheDevice) {
  send_along();
  const auto end = base::Clock::now() + std::chrono::seconds(10);
  while (!channel_->lost() && base::Clock::now() < end) step();
  ASSERT_TRUE(channel_->lost().has_value());
  EXPECT_EQ(channel_->lost()->code(), StatusCode::kInvalidInput);
  EXPECT_THAT(channel_->lost()->message(), HasSubstr("must fetch"));
  EXPECT_EQ(channel_->uncertain(), 0U);
  EXPECT_TRUE(all_zero({memory_, 0, 4096}));
}
#endif

}  // namespace
}  // namespace framewire::transport::testing
