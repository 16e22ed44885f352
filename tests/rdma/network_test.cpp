// What a network does to connections between two machines: it loses, delays and reorders packets,
// loses a peer, or goes away. Run by run.sh in virtual machines.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <chrono>
#include <cstdlib>
#include <string>
#include <tests/transport/connections.hpp>
#include <tests/transport/far_machine.hpp>

namespace framewire::transport::testing {
namespace {

using base::Clock;
using std::chrono::seconds;

constexpr std::uint64_t kBytes = 256 * 1024;

class Network : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ends_ = connect_ends(GetParam()); }
  void TearDown() override {
    shell("/framewire/tc qdisc del dev eth0 root 2>/dev/null");
    order_far_machine("/framewire/tc qdisc del dev eth0 root");
    ends_.reset();
  }

  static void shell(const std::string& line) {
    // Whether it did anything does not matter: there may be nothing to undo.
    [[maybe_unused]] const int status = std::system(line.c_str());
  }
  // Both directions, each as it leaves.
  static void disturb(const std::string& how) {
    ASSERT_EQ(std::system(("/framewire/tc qdisc replace dev eth0 root netem " + how).c_str()), 0);
    order_far_machine("/framewire/tc qdisc replace dev eth0 root netem " + how);
  }
  template <typename Predicate>
  bool until(Predicate&& predicate, seconds most = seconds(20)) {
    const auto end = Clock::now() + most;
    while (!predicate()) {
      if (Clock::now() > end) return false;
      ends_->step();
    }
    return true;
  }
  Lease lease(Direction direction) {
    const std::string word = direction == Direction::kPut ? "put" : "get";
    ends_->far(fmt::format("offer {} 0 {} 60000", word, kBytes));
    EXPECT_TRUE(until([&] { return ends_->near().credits(direction) > 0; }));
    return ends_->near().take_lease(direction).value();
  }
  Result<Completion> result(const Result<Transfer>& transfer) {
    if (!transfer) return fail(transfer.error());
    EXPECT_TRUE(until([&] { return ends_->near().done(*transfer); }));
    return ends_->near().take_result(*transfer);
  }

  std::unique_ptr<Ends> ends_;
  Region memory_ = Region::allocate_host(kBytes).value();
};

// Not over RDMA, whose fabrics are built to lose nothing; soft-RoCE takes minutes where they do.
class Loss : public Network {};

TEST_P(Loss, WhatArrivesIsWhole) {
  disturb("loss 2% delay 2ms reorder 20% duplicate 1%");
  TransferOptions checked;
  checked.checksum = true;
  for (unsigned round = 1; round <= 4; ++round) {
    fill(memory_.bytes(), round);
    const auto put = result(ends_->near().put(lease(Direction::kPut), memory_, 0, kBytes, checked));
    ASSERT_TRUE(put) << put.error().to_string();
    EXPECT_TRUE(put->verified);
    EXPECT_EQ(ends_->far(fmt::format("check 0 {} {}", kBytes, round)), "yes");
    fill(memory_.bytes(), 99);
    const auto get = result(ends_->near().get(lease(Direction::kGet), memory_, 0, kBytes, checked));
    ASSERT_TRUE(get) << get.error().to_string();
    EXPECT_TRUE(holds(memory_.bytes(), round));
  }
}

TEST_P(Network, APeerKilledUnderLossIsLostInTime) {
  const Lease target = lease(Direction::kPut);
  disturb("loss 5%");
  const auto put = ends_->near().put(target, memory_, 0, kBytes);
  ends_->kill_far();
  const auto start = Clock::now();
  const auto ended = result(put);  // it may have arrived before
  if (!ended) {
    EXPECT_EQ(ended.error().code(), StatusCode::kPeerLost);
  }
  EXPECT_TRUE(until([&] { return ends_->near().lost() && ends_->near().uncertain() == 0; }));
  EXPECT_LT(Clock::now() - start, seconds(15));
}

// Pulls the cable of this end; rdma_test.cpp pulls that of the far end.
class Cable : public Network {
 protected:
  // Soft-RoCE of Linux 6.1 that was to send while its interface was down drops, uncounted, every
  // later request to connect: the datagram arrives, and its card never sees it. Over RDMA the cable
  // loses everything instead, as a real one does whose other end is pulled.
  void pull(bool out) const {
    if (GetParam() != "ucx_rdma_apart") {
      shell(out ? "ip link set eth0 down" : "ip link set eth0 up");
    } else {
      shell(out ? "/framewire/tc qdisc replace dev eth0 root netem loss 100%"
                : "/framewire/tc qdisc del dev eth0 root");
    }
  }
};

TEST_P(Cable, PulledIsADeadlineAndAReconnectionIsNew) {
  const Lease target = lease(Direction::kPut);
  const auto room = ends_->near().offer(memory_, 0, 100);
  pull(true);
  TransferOptions brief;
  brief.deadline_ms = 500;
  const Region other = Region::allocate_host(kBytes).value();
  const auto start = Clock::now();
  const auto put = result(ends_->near().put(target, other, 0, kBytes, brief));
  ASSERT_FALSE(put);
  EXPECT_TRUE(put.error().code() == StatusCode::kDeadline ||
              put.error().code() == StatusCode::kPeerLost)
      << put.error().to_string();
  EXPECT_LT(Clock::now() - start, seconds(5));
  pull(false);
  // A link that still touched memory is closed by force; one whose bytes the kernel had taken over
  // goes on.
  if (ends_->near().lost()) {
    EXPECT_TRUE(until([&] { return ends_->near().uncertain() == 0; }));
    EXPECT_EQ(result(room).error().code(), StatusCode::kPeerLost);
  }
  const std::uint32_t epoch = ends_->near().config().epoch;
  ends_ = connect_ends(GetParam());
  EXPECT_NE(ends_->near().config().epoch, epoch);
  fill(other.bytes(), 7);
  EXPECT_TRUE(result(ends_->near().put(lease(Direction::kPut), other, 0, kBytes)));
  EXPECT_EQ(ends_->far(fmt::format("check 0 {} 7", kBytes)), "yes");
}

INSTANTIATE_TEST_SUITE_P(Links, Network,
                         ::testing::Values("tls_apart", "ucx_tcp_apart", "ucx_rdma_apart"),
                         [](const auto& which) { return which.param; });

INSTANTIATE_TEST_SUITE_P(Links, Loss, ::testing::Values("tls_apart", "ucx_tcp_apart"),
                         [](const auto& which) { return which.param; });
INSTANTIATE_TEST_SUITE_P(Links, Cable,
                         ::testing::Values("tls_apart", "ucx_tcp_apart", "ucx_rdma_apart"),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace framewire::transport::testing
