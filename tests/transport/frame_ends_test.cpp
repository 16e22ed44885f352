// What a frame's `done` may do: send other frames, close the sender.
#include <gtest/gtest.h>
#include <algorithm>
#include <base/clock.hpp>
#include <frames/header.hpp>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace framewire::frames {
namespace {

using transport::Channel;
using transport::Region;

constexpr std::uint64_t kFrameBytes = 100;

class FrameEnds : public ::testing::Test {
 protected:
  void begin(const SenderOptions& options, std::uint32_t slots) {
    auto pair = transport::connect_loopback();
    ASSERT_TRUE(pair);
    sender_ = FrameSender::make(std::move(pair->first), options).value();
    if (slots == 0) {
      silent_ = std::move(pair->second);
      return;
    }
    ReceiverOptions receiving;
    receiving.slots = slots;
    receiving.slot_bytes = kFrameBytes;
    auto memory = Region::allocate_host(slots * FrameReceiver::slot_pitch(kFrameBytes)).value();
    receiver_ = FrameReceiver::make(std::move(pair->second), std::move(memory), receiving).value();
  }

  [[nodiscard]] OutgoingFrame frame(std::function<void(const Result<void>&)> done) const {
    OutgoingFrame out;
    out.header.width_px = 10;
    out.header.height_px = 10;
    out.header.payload_bytes = kFrameBytes;
    out.memory = memory_;
    out.done = std::move(done);
    return out;
  }

  /// Receives, and releases at once, while the sender works.
  void run_until(const std::function<bool()>& is_enough) {
    const auto end = base::Clock::now() + std::chrono::minutes(1);
    while (!is_enough()) {
      ASSERT_LT(base::Clock::now(), end);
      receive_all();
      sender_->progress();
    }
  }
  /// Until none has come for so long, or the sender has finished.
  void receive_all(std::uint32_t wait_ms = 0) {
    while (true) {
      const auto got = receiver_->next(wait_ms);
      if (!got || !*got) return;
      ASSERT_TRUE(receiver_->release(**got));
    }
  }

  Region memory_ = Region::allocate_host(kFrameBytes).value();
  std::optional<Channel> silent_;  ///< of a receiver that offers nothing
  std::optional<FrameReceiver> receiver_;
  std::optional<FrameSender> sender_;
};

TEST_F(FrameEnds, AreNotToldInsideOneAnother) {
  constexpr std::uint32_t kSlots = 64;
  constexpr std::uint64_t kFrames = 2000;
  SenderOptions options;
  options.queue = kSlots;
  begin(options, kSlots);
  std::uint64_t ended = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void(const Result<void>&)> send_next = [&](const Result<void>& end) {
    EXPECT_TRUE(end);
    ++ended;
    deepest = std::max(deepest, ++depth);
    if (sender_->stats().accepted < kFrames) {
      EXPECT_TRUE(sender_->send(frame(send_next)));
    }
    --depth;
  };
  for (std::uint32_t i = 0; i < kSlots; ++i) ASSERT_TRUE(sender_->send(frame(send_next)));
  run_until([&] { return ended == kFrames; });
  EXPECT_EQ(deepest, 1);
  EXPECT_EQ(sender_->under_way(), 0u);
  EXPECT_EQ(sender_->stats().delivered, kFrames);
}

TEST_F(FrameEnds, ThatSendTooLargeFramesLetTheCallReturn) {
  begin({}, 1);
  int ended = 0;
  std::function<void(const Result<void>&)> send_again = [&](const Result<void>& end) {
    EXPECT_FALSE(end);
    if (++ended == 1000) return;  // instead of a test that hangs
    auto large = frame(send_again);
    large.memory = Region::allocate_host(kFrameBytes + 1).value();
    large.header.payload_bytes = kFrameBytes + 1;
    (void)sender_->send(std::move(large));
  };
  auto large = frame(send_again);
  large.memory = Region::allocate_host(kFrameBytes + 1).value();
  large.header.payload_bytes = kFrameBytes + 1;
  ASSERT_TRUE(sender_->send(std::move(large)));
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(sender_->under_way(), 1u);
  EXPECT_TRUE(sender_->progress());
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(sender_->stats().accepted, sender_->stats().failed + sender_->under_way());
  sender_.reset();
}

TEST_F(FrameEnds, OfDroppedFramesMaySendThemAgain) {
  SenderOptions options;
  options.queue = 2;
  options.drop_oldest = true;
  begin(options, 0);
  int again = 0;
  std::function<void(const Result<void>&)> send_again = [&](const Result<void>& end) {
    if (end || end.error().code() != StatusCode::kBusy) return;
    if (++again == 1000) return;  // instead of a test that hangs
    (void)sender_->send(frame(send_again));
  };
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(sender_->send(frame(send_again)));
  EXPECT_EQ(again, 0);
  ASSERT_TRUE(sender_->send(frame(send_again)));
  EXPECT_EQ(again, 1);
  sender_.reset();
}

TEST_F(FrameEnds, FindAFullQueueBusy) {
  SenderOptions options;
  options.queue = 1;
  begin(options, 1);
  std::optional<StatusCode> refused;
  auto first = frame([&](const Result<void>& end) {
    EXPECT_TRUE(end);
    auto sent = sender_->send(frame({}));
    if (!sent) refused = sent.error().code();
  });
  ASSERT_TRUE(sender_->send(std::move(first)));
  ASSERT_TRUE(sender_->send(frame({})));  // which waits for the slot of the first
  while (sender_->under_way() > 1) {
    receiver_->progress();
    sender_->progress();
  }
  EXPECT_EQ(refused, StatusCode::kBusy);
}

TEST_F(FrameEnds, AddNothingOnceCloseHasBegun) {
  begin({}, 4);
  int ended = 0;
  std::optional<StatusCode> refused;
  std::function<void(const Result<void>&)> send_next = [&](const Result<void>&) {
    if (++ended == 1000) return;  // instead of a test that hangs
    if (auto sent = sender_->send(frame(send_next)); !sent) refused = sent.error().code();
  };
  ASSERT_TRUE(sender_->send(frame(send_next)));
  const std::jthread receiving([this] { receive_all(60'000); });
  EXPECT_TRUE(sender_->close());
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(refused, StatusCode::kPeerLost);
  EXPECT_EQ(sender_->send(frame({})).error().code(), StatusCode::kPeerLost);
}

TEST_F(FrameEnds, MayCloseTheSender) {
  begin({}, 4);
  std::optional<Result<void>> closed;
  int ended = 0;
  auto first = frame([&](const Result<void>&) {
    ++ended;
    closed = sender_->close();
  });
  ASSERT_TRUE(sender_->send(std::move(first)));
  ASSERT_TRUE(sender_->send(frame([&](const Result<void>&) { ++ended; })));
  const std::jthread receiving([this] { receive_all(60'000); });
  EXPECT_TRUE(sender_->close());
  ASSERT_TRUE(closed);
  EXPECT_TRUE(*closed);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(sender_->under_way(), 0u);
}

}  // namespace
}  // namespace framewire::frames
