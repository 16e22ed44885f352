// The frame layer over real links: order, credits, loss, and what either end's death does.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <frames/header.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <tests/transport/connections.hpp>
#include <tests/transport/faulty_link.hpp>
#include <transport/loopback/loopback.hpp>
#include <vector>

namespace framewire::frames {
namespace {

using transport::Channel;
using transport::Direction;
using transport::Region;
namespace testing = transport::testing;

struct Pair {
  Channel sender;
  Channel receiver;
};

Channel channel_of(transport::session::Joined joined,
                   const std::shared_ptr<testing::Faults>& faults) {
  if (faults) {
    joined.link = std::make_unique<testing::FaultyLink>(std::move(joined.link), faults);
  }
  return transport::make_channel(std::move(joined.link), joined.config);
}

Pair join(const std::string& name, const std::shared_ptr<testing::Faults>& faults = nullptr) {
  if (name == "loopback") {
    auto [one, other] = transport::make_loopback();
    transport::ChannelConfig config;
    config.epoch = 7;
    config.peer = "peer";
    return {channel_of({std::move(one), config}, faults),
            transport::make_channel(std::move(other), config)};
  }
  const auto options = testing::opening_of(name, true).options;
  auto listener = transport::Listener::listen("127.0.0.1:0", options).value();
  const std::string address = fmt::format("127.0.0.1:{}", listener.port());
  auto connecting =
      std::async(std::launch::async, [&] { return transport::session::connect(address, options); });
  auto receiver = listener.accept(10'000);
  auto sender = connecting.get();
  return {channel_of(std::move(sender.value()), faults), std::move(receiver.value())};
}

PictureHeader jpeg(std::uint64_t bytes) {
  PictureHeader header;
  header.width_px = 640;
  header.height_px = 480;
  header.payload_bytes = bytes;
  return header;
}

OutgoingFrame frame(std::uint64_t bytes, unsigned seed) {
  OutgoingFrame out;
  out.header = jpeg(bytes);
  out.memory = Region::allocate_host(bytes).value();
  testing::fill(out.memory.bytes(), seed);
  return out;
}

FrameReceiver receiver_on(Channel channel, std::uint32_t slots, std::uint64_t slot_bytes,
                          std::uint32_t reorder_wait_ms = 60'000) {
  ReceiverOptions options;
  options.slots = slots;
  options.slot_bytes = slot_bytes;
  options.reorder_wait_ms = reorder_wait_ms;
  auto memory = Region::allocate_host(slots * FrameReceiver::slot_pitch(slot_bytes)).value();
  return FrameReceiver::make(std::move(channel), std::move(memory), options).value();
}

bool holds(const FrameReceiver& receiver, const ReceivedFrame& got, unsigned seed) {
  return testing::holds(
      receiver.memory().bytes().subspan(got.offset_bytes, got.header.payload_bytes), seed);
}

// Both ends on one thread: the sender works while the receiver waits.
Result<std::optional<ReceivedFrame>> next(FrameReceiver& receiver, FrameSender& sender) {
  const auto end = base::Clock::now() + std::chrono::minutes(1);
  while (base::Clock::now() < end) {
    sender.progress();
    auto got = receiver.next(0);
    if (got || got.error().code() != StatusCode::kDeadline) return got;
    sender.idle(1);
  }
  return fail(StatusCode::kInternal, "nothing for a minute");
}

class Frames : public ::testing::TestWithParam<std::string> {};

TEST_P(Frames, ArriveOnceAndInOrder) {
  static constexpr unsigned kFrames = 150;
  auto [near, far] = join(GetParam());
  auto sending = std::async(std::launch::async, [&channel = near] {
    SenderOptions options;
    options.checksum = true;
    auto sender = FrameSender::make(std::move(channel), options).value();
    for (unsigned i = 1; i <= kFrames; ++i) {
      auto out = frame(1 + i * 977 % 70'000, i);
      out.header.timestamp_ns = i;
      if (const auto sent = sender.send(std::move(out)); !sent) return sent;
    }
    const auto finished = sender.close();
    EXPECT_EQ(sender.stats().delivered, kFrames);
    return finished;
  });
  auto receiver = receiver_on(std::move(far), 4, 70'000);
  for (unsigned i = 1; i <= kFrames; ++i) {
    const auto got = receiver.next(10'000);
    ASSERT_TRUE(got) << got.error().to_string();
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->header.sequence, i);
    EXPECT_EQ((*got)->header.timestamp_ns, i);
    EXPECT_TRUE(holds(receiver, **got, i));
    ASSERT_TRUE(receiver.release(**got));
  }
  const auto end = receiver.next(10'000);
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_FALSE(*end);
  EXPECT_EQ(receiver.stats().dropped, 0u);
  EXPECT_TRUE(sending.get());
}

TEST_P(Frames, DoNotPassCreditsAndQueue) {
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 2, 1000);
  SenderOptions options;
  options.queue = 3;
  options.deadline_ms = 2000;
  auto sender = FrameSender::make(std::move(near), options).value();
  std::vector<ReceivedFrame> held;
  for (unsigned i = 1; i <= 2; ++i) {
    ASSERT_TRUE(sender.send(frame(1000, i)));
    held.push_back(**next(receiver, sender));
  }
  while (sender.under_way() > 0) {
    receiver.progress();
    sender.progress();
  }
  // Both slots are held: three frames may wait, and no fourth.
  for (unsigned i = 3; i <= 5; ++i) ASSERT_TRUE(sender.send(frame(1000, i)));
  EXPECT_EQ(sender.under_way(), 3u);
  // The sixth gets in when the third has waited too long.
  EXPECT_EQ(sender.stats().failed, 0u);
  EXPECT_TRUE(sender.send(frame(1000, 6)));
  EXPECT_GE(sender.stats().failed, 1u);
  EXPECT_LE(sender.under_way(), 3u);
}

TEST_P(Frames, AHeldSlotIsLeftAlone) {
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 2, 5000);
  auto sender = FrameSender::make(std::move(near)).value();
  ASSERT_TRUE(sender.send(frame(5000, 1)));
  const auto first = next(receiver, sender);
  ASSERT_TRUE(first && *first);
  for (unsigned i = 2; i <= 10; ++i) {
    ASSERT_TRUE(sender.send(frame(5000, i)));
    const auto got = next(receiver, sender);
    ASSERT_TRUE(got && *got);
    EXPECT_NE((*got)->slot, (*first)->slot);
    ASSERT_TRUE(receiver.release(**got));
  }
  EXPECT_TRUE(holds(receiver, **first, 1));
  EXPECT_TRUE(receiver.release(**first));
  EXPECT_EQ(receiver.release(**first).error().code(), StatusCode::kInvalidInput);
}

TEST_P(Frames, TheOldestGiveWayAndAreCounted) {
  constexpr unsigned kFrames = 40;
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 2, 1000);
  SenderOptions options;
  options.queue = 3;
  options.drop_oldest = true;
  auto sender = FrameSender::make(std::move(near), options).value();
  unsigned dropped = 0;
  for (unsigned i = 1; i <= kFrames; ++i) {
    auto out = frame(1000, i);
    out.done = [&](const Result<void>& end) {
      if (!end && end.error().code() == StatusCode::kBusy) ++dropped;
    };
    ASSERT_TRUE(sender.send(std::move(out)));
    receiver.progress();
  }
  EXPECT_GT(dropped, 30u);
  std::uint64_t last = 0;
  while (receiver.stats().frames + sender.stats().dropped < kFrames) {
    const auto got = next(receiver, sender);
    ASSERT_TRUE(got && *got);
    EXPECT_GT((*got)->header.sequence, last);
    last = (*got)->header.sequence;
    EXPECT_TRUE(holds(receiver, **got, static_cast<unsigned>(last)));
    ASSERT_TRUE(receiver.release(**got));
  }
  EXPECT_EQ(last, kFrames);
  EXPECT_EQ(receiver.stats().dropped, dropped);
  EXPECT_EQ(sender.stats().dropped, dropped);
}

TEST_P(Frames, TooLargeOnesAreSkipped) {
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 1, 1000);
  auto sender = FrameSender::make(std::move(near)).value();
  auto large = frame(1001, 1);
  std::optional<StatusCode> end;
  large.done = [&](const Result<void>& result) { end = result.error().code(); };
  ASSERT_TRUE(sender.send(std::move(large)));
  ASSERT_TRUE(sender.send(frame(1000, 2)));
  const auto got = next(receiver, sender);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(end, StatusCode::kTooLarge);
  EXPECT_TRUE(holds(receiver, **got, 2));
  EXPECT_EQ(receiver.stats().dropped, 1u);
}

TEST_P(Frames, TheSendersDeathComesAfterWhatArrived) {
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 4, 1000);
  {
    auto sender = FrameSender::make(std::move(near)).value();
    for (unsigned i = 1; i <= 3; ++i) ASSERT_TRUE(sender.send(frame(1000, i)));
    while (sender.under_way() > 0) {
      receiver.progress();
      sender.progress();
    }
  }
  for (unsigned i = 1; i <= 3; ++i) {
    const auto got = receiver.next(5000);
    ASSERT_TRUE(got && *got);
    EXPECT_TRUE(holds(receiver, **got, i));
  }
  EXPECT_EQ(receiver.next(5000).error().code(), StatusCode::kPeerLost);
}

TEST_P(Frames, TheReceiversDeathEndsEveryFrame) {
  auto [near, far] = join(GetParam());
  std::vector<StatusCode> ends;
  auto sender = FrameSender::make(std::move(near)).value();
  {
    auto receiver = receiver_on(std::move(far), 1, 1000);
    for (unsigned i = 1; i <= 3; ++i) {
      auto out = frame(1000, i);
      out.done = [&](const Result<void>& end) {
        if (!end) ends.push_back(end.error().code());
      };
      ASSERT_TRUE(sender.send(std::move(out)));
    }
    ASSERT_TRUE(*next(receiver, sender));
  }
  while (sender.under_way() > 0) {
    if (!sender.progress()) sender.idle(1);
  }
  // One had arrived, though its confirmation may not have.
  EXPECT_GE(ends.size(), 2u);
  for (const StatusCode code : ends) EXPECT_EQ(code, StatusCode::kPeerLost);
  EXPECT_EQ(sender.send(frame(1, 1)).error().code(), StatusCode::kPeerLost);
  EXPECT_EQ(sender.close().error().code(), StatusCode::kPeerLost);
}

TEST_P(Frames, TheirEndsMayThrowAndSendOthers) {
  auto [near, far] = join(GetParam());
  auto receiver = receiver_on(std::move(far), 1, 1000);
  int ended = 0;
  StatusCode refused = StatusCode::kInternal;
  {
    auto sender = FrameSender::make(std::move(near)).value();
    auto large = frame(1001, 1);
    large.done = [&](const Result<void>&) {
      ++ended;
      EXPECT_TRUE(sender.send(frame(1000, 2)));
      throw std::runtime_error("of the caller's");
    };
    ASSERT_TRUE(sender.send(std::move(large)));
    const auto got = next(receiver, sender);
    ASSERT_TRUE(got && *got);
    EXPECT_TRUE(holds(receiver, **got, 2));
    // The only slot is taken: these end with their sender, and so would what they send.
    for (unsigned i = 3; i <= 4; ++i) {
      auto waiting = frame(1000, i);
      waiting.done = [&](const Result<void>&) {
        ++ended;
        if (auto sent = sender.send(frame(1, 5)); !sent) refused = sent.error().code();
        throw std::runtime_error("of the caller's");
      };
      ASSERT_TRUE(sender.send(std::move(waiting)));
    }
  }
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(refused, StatusCode::kPeerLost);
}

TEST_P(Frames, DamagedOnesAreSentAgain) {
  auto faults = std::make_shared<testing::Faults>();
  auto [near, far] = join(GetParam(), faults);
  auto receiver = receiver_on(std::move(far), 2, 1000);
  SenderOptions options;
  options.queue = 8;  // all of them: nobody receives while they are handed in
  options.checksum = true;
  auto sender = FrameSender::make(std::move(near), options).value();
  int left = 2;
  faults->rewrite = [&](transport::Packet& packet) {
    if (packet.kind == transport::PacketKind::kPut && left-- > 0) packet.checksum ^= 1;
  };
  for (unsigned i = 1; i <= 5; ++i) ASSERT_TRUE(sender.send(frame(1000, i)));
  for (unsigned i = 1; i <= 5; ++i) {
    const auto got = next(receiver, sender);
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->header.sequence, i);
    EXPECT_TRUE(holds(receiver, **got, i));
    ASSERT_TRUE(receiver.release(**got));
  }
  EXPECT_EQ(receiver.stats().damaged, 2u);
  EXPECT_EQ(sender.stats().repeated, 2u);
  EXPECT_EQ(receiver.stats().dropped, 0u);
}

std::vector<std::string> links() { return {"loopback", "tcp", "tls", "shared"}; }
INSTANTIATE_TEST_SUITE_P(Links, Frames, ::testing::ValuesIn(links()),
                         [](const auto& test) { return test.param; });

// A sender that numbers and labels as the test says.
class RawSender {
 public:
  explicit RawSender(Channel channel) : channel_(std::move(channel)) {}
  void put(std::span<const std::byte> note, std::uint64_t bytes) {
    while (channel_.credits(Direction::kPut) == 0) channel_.progress();
    transport::TransferOptions options;
    options.note = note;
    const auto lease = channel_.take_lease(Direction::kPut);
    ASSERT_TRUE(channel_.put(*lease, memory_, 0, bytes, options));
  }
  void put(std::uint64_t sequence, std::uint64_t previous) {
    PictureHeader header = jpeg(100);
    header.sequence = sequence;
    header.previous_sequence = previous;
    put(encode(header), 100);
  }

 private:
  Channel channel_;
  Region memory_ = Region::allocate_host(4096).value();
};

TEST(FrameOrder, IsRestored) {
  auto [near, far] = join("loopback");
  auto receiver = receiver_on(std::move(far), 4, 1000);
  RawSender sender(std::move(near));
  sender.put(4, 2);
  sender.put(2, 1);
  EXPECT_EQ(receiver.next(20).error().code(), StatusCode::kDeadline);
  sender.put(1, 0);
  for (const std::uint64_t sequence : {1, 2, 4}) {
    EXPECT_EQ((**receiver.next(1000)).header.sequence, sequence);
  }
  EXPECT_EQ(receiver.stats().dropped, 1u);
}

TEST(FrameOrder, DoesNotWaitForEver) {
  auto [near, far] = join("loopback");
  auto receiver = receiver_on(std::move(far), 4, 1000, 30);
  RawSender sender(std::move(near));
  sender.put(3, 2);
  EXPECT_EQ((**receiver.next(5000)).header.sequence, 3u);
  sender.put(2, 1);
  sender.put(3, 2);
  sender.put(4, 3);
  EXPECT_EQ((**receiver.next(5000)).header.sequence, 4u);
  EXPECT_EQ(receiver.stats().late, 2u);
  EXPECT_EQ(receiver.stats().dropped, 2u);
}

TEST(FrameOrder, WhatIsNoFrameEndsTheConnection) {
  PictureHeader lying = jpeg(99);
  lying.sequence = 1;
  const std::array<std::byte, 5> words{};
  const auto header = encode(lying);
  for (const std::span<const std::byte> note :
       {std::span<const std::byte>(), std::span<const std::byte>(words),
        std::span<const std::byte>(header)}) {
    auto [near, far] = join("loopback");
    auto receiver = receiver_on(std::move(far), 4, 1000);
    RawSender sender(std::move(near));
    sender.put(note, 100);
    EXPECT_EQ(receiver.next(1000).error().code(), StatusCode::kInvalidInput);
    EXPECT_TRUE(receiver.channel().lost());
  }
}

TEST(FrameOrder, AnotherVersionEndsTheConnection) {
  PictureHeader newer = jpeg(100);
  newer.sequence = 1;
  auto header = encode(newer);
  header[4] = std::byte{2};
  auto [near, far] = join("loopback");
  auto receiver = receiver_on(std::move(far), 4, 1000);
  RawSender sender(std::move(near));
  sender.put(header, 100);
  EXPECT_EQ(receiver.next(1000).error().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(receiver.channel().lost());
}

TEST(FrameReceiver, TellsWhatDoesNotFit) {
  const auto make = [](std::uint32_t slots, std::uint64_t slot_bytes) {
    auto [near, far] = join("loopback");
    ReceiverOptions options;
    options.slots = slots;
    options.slot_bytes = slot_bytes;
    return FrameReceiver::make(std::move(far), Region::allocate_host(4096).value(), options);
  };
  EXPECT_TRUE(make(16, 256));
  EXPECT_TRUE(make(8, 257));
  for (const auto& [slots, bytes] : std::vector<std::pair<std::uint32_t, std::uint64_t>>{
           {16, 257}, {0, 256}, {1, 0}, {257, 1}, {1, 4097}, {1, ~std::uint64_t{0}}}) {
    EXPECT_EQ(make(slots, bytes).error().code(), StatusCode::kInvalidInput)
        << slots << " " << bytes;
  }
}

PictureHeader planes() {
  PictureHeader header;
  header.format = FrameFormat::kPlanes;
  header.width_px = 641;
  header.height_px = 479;
  header.orientation = 6;
  header.plane_count = 3;
  header.planes = {{{641, 479, 704}, {321, 240, 352}, {321, 240, 352}, {}}};
  header.payload_bytes = 704 * 479 + 2 * 352 * 240;
  header.timestamp_ns = -5;
  header.sequence = 1ULL << 40;
  header.previous_sequence = 3;
  return header;
}

TEST(PictureHeader, ComesBackAsItWent) {
  PictureHeader last;
  last.last = true;
  last.sequence = 1;
  PictureHeader one = jpeg(7);
  one.sequence = 1;
  for (const PictureHeader& header : {planes(), last, one}) {
    const auto again = decode_picture_header(encode(header));
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_EQ(*again, header);
  }
}

TEST(PictureHeader, NoBitMayChange) {
  const auto good = encode(planes());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode_picture_header(bad)) << bit;
  }
  EXPECT_FALSE(decode_picture_header(std::span(good).first(111)));
}

TEST(PictureHeader, ContradictionsAreNamed) {
  const auto refused = [](auto change) {
    PictureHeader header = planes();
    change(header);
    return !decode_picture_header(encode(header));
  };
  EXPECT_FALSE(refused([](PictureHeader&) {}));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.payload_bytes += 1; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.plane_count = 2; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.planes[0].pitch_bytes = 640; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.planes[1].height_px = -240; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.planes[3] = {1, 1, 1}; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.width_px = 0; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.orientation = 9; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.sequence = 3; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.last = true; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.format = FrameFormat::kJpeg; }));
  EXPECT_TRUE(refused([](PictureHeader& h) { h.format = static_cast<FrameFormat>(3); }));
}

}  // namespace
}  // namespace framewire::frames
