// Copies on one device that wait for what another device is sending: the second half of a payload's
// way between two processes.
#include <algorithm>
#include <chrono>
#include <memory>
#include <tests/gpu/devices.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

// Copies on one device that wait for the words that another device's copy writes. They have as many
// thread blocks as that copy, or more, and run as a kernel launched for each, or as one that stays.
class Arrivals : public TransportDevices {
 protected:
  void SetUp() override {
    TransportDevices::SetUp();
    if (IsSkipped()) return;
    buffer_ = region(second_);
    target_ = region(second_);
    words_ = region(second_);
    if (devices_->reach(0, second_) == Reach::kNone) {
      GTEST_SKIP() << "no GPUs that reach each other";
    }
    pushing_ = devices_->make_queue(0).value();
    placing_ = devices_->make_queue(second_).value();
    tell_.max_arrivals = 64;
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&tell_.word), 4096, cudaHostAllocPortable),
              cudaSuccess);
  }
  void TearDown() override {
    pushing_.reset();
    if (tell_.word != nullptr) {
      ASSERT_EQ(cudaFreeHost(tell_.word), cudaSuccess);
    }
    TransportDevices::TearDown();
  }
  [[nodiscard]] std::uint64_t* words(unsigned round) const {
    return reinterpret_cast<std::uint64_t*>(words_.data()) + std::size_t{64} * round;
  }
  // Whether a copy of `count` bytes is made once `arrival` tells that they have landed.
  bool place(std::size_t count, const Arrival& arrival) {
    const auto ticket = placing_->copy_on_arrival(target_.data(), buffer_.data(), count, arrival);
    if (!ticket || *ticket == 0) return false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (placing_->completed().value_or(0) < *ticket) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return !placing_->gave_up(*ticket);
  }

  Region buffer_;
  Region target_;
  Region words_;
  Tell tell_;
  std::unique_ptr<CopyQueue> pushing_;
  std::unique_ptr<CopyQueue> placing_;
};

TEST_F(Arrivals, WhatHasBeenToldIsCopiedAndWhatHasNotIsNot) {
  const Region source = region(0);
  unsigned round = 0;
  for (const std::size_t count : {100U, 32'768U, 40'001U, 3'110'400U}) {
    auto held = bytes(static_cast<unsigned>(count % 11));
    ASSERT_TRUE(copy_in(source, 0, held));
    std::fill(held.begin() + static_cast<std::ptrdiff_t>(count), held.end(), std::byte{0});
    for (unsigned again = 0; again < 2; ++again, ++round) {
      ASSERT_TRUE(copy_in(target_, 0, std::vector<std::byte>(count)));
      tell_.arrivals = words(round);
      const auto pushed =
          pushing_->copy_and_tell(buffer_.data(), source.data(), count, Sides::kWithinReach, tell_);
      ASSERT_TRUE(pushed) << pushed.error().to_string();
      ASSERT_NE(tell_.number, 0U);
      ASSERT_GT(tell_.arrival_count, 0U);
      const auto number = static_cast<std::uint32_t>(tell_.number);
      // What no word tells is not written; a single word that is missing makes it none, either.
      EXPECT_FALSE(place(count, {words(round), tell_.arrival_count, number + 1}));
      expect_holds(target_, std::vector<std::byte>(kBytes));
      EXPECT_FALSE(place(count, {words(round), tell_.arrival_count + 1, number}));
      ASSERT_TRUE(pushing_->synchronize());
      for (int i = 0; i < 3; ++i) {  // the later ones find a kernel
        EXPECT_TRUE(place(count, {words(round), tell_.arrival_count, number}));
      }
      expect_holds(target_, held);
    }
  }
}

// Told while the bytes are on their way, as between two processes. On the emulation no two devices
// work at the same time.
TEST_F(Arrivals, BytesOnTheirWayAreWaitedFor) {
  if (second_ == 0 || emulated()) GTEST_SKIP() << "there are no two GPUs";
  const Region source = region(0);
  const auto held = bytes(16);
  ASSERT_TRUE(copy_in(source, 0, held));
  unsigned came = 0;
  tell_.arrivals = words(0);
  for (unsigned round = 0; round < 60; ++round) {
    const std::size_t count = round % 3 == 0 ? 4096 : round % 3 == 1 ? 70'001 : 3'110'400;
    // Every one brings others, to where those before it lie; all but the first few find kernels.
    const std::byte* from = nullptr;
    for (unsigned i = 0; i < 10; ++i) {
      const std::byte* const next = source.data() + std::size_t{16} * (10 * round + i);
      ASSERT_TRUE(pushing_->copy_and_tell(buffer_.data(), next, count, Sides::kWithinReach, tell_));
      if (place(count, {words(0), tell_.arrival_count, static_cast<std::uint32_t>(tell_.number)})) {
        ++came;
        from = next;
      }
    }
    if (from == nullptr) continue;
    std::vector<std::byte> found(count);
    ASSERT_TRUE(copy_out(target_, 0, found));
    EXPECT_TRUE(std::equal(found.begin(), found.end(), &held[from - source.data()])) << round;
  }
  EXPECT_GT(came, 200U);
}

}  // namespace
}  // namespace framewire::gpu_tests
