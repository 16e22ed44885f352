// Transport over real devices: what tests/transport shows on a fake one, on CUDA's.
#include <algorithm>
#include <chrono>
#include <gpu/stream.hpp>
#include <memory>
#include <tests/gpu/devices.hpp>
#include <vector>

namespace framewire::gpu_tests {
namespace {

TEST_F(TransportDevices, RegionsAreZeroedAndKeepWhatIsCopiedIn) {
  const Region one = region(0);
  expect_holds(one, std::vector<std::byte>(kBytes));
  ASSERT_TRUE(copy_in(one, 0, bytes(3)));
  expect_holds(one, bytes(3));
}

TEST_F(TransportDevices, OneProcessCopiesFromDeviceToDevice) {
  auto ends = connect_loopback().value();
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(5)));
  send(ends.first, source, ends.second, target);
  expect_holds(target, bytes(5));
  const bool direct = ends.first.path().direct != Reach::kNone;
  EXPECT_EQ(ends.first.path().staged_bytes, direct ? 0U : kBytes);
}

TEST_F(TransportDevices, TheStreamLinkStages) {
  auto ends = join(kStreamLink);
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(6)));
  send(ends.first, source, ends.second, target);
  expect_holds(target, bytes(6));
  EXPECT_EQ(ends.first.path().staged_bytes, kBytes);
}

TEST_F(TransportDevices, AChecksumIsOfTheBytesOnTheDevice) {
  auto ends = join(kStreamLink);
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(7)));
  TransferOptions checked;
  checked.checksum = true;
  send(ends.first, source, ends.second, target, checked);
  expect_holds(target, bytes(7));
}

TEST_F(TransportDevices, APutWaitsForTheStreamThatWrites) {
  auto ends = connect_loopback().value();
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream);
  // Long work, then what shall arrive.
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(cudaMemsetAsync(source.data(), i, kBytes, stream->get()), cudaSuccess);
  }
  ASSERT_EQ(cudaMemsetAsync(source.data(), 0x5a, kBytes, stream->get()), cudaSuccess);
  TransferOptions ordered;
  ordered.stream = CudaStream(stream->get());
  send(ends.first, source, ends.second, target, ordered);
  expect_holds(target, std::vector<std::byte>(kBytes, std::byte{0x5a}));
}

TEST_F(TransportDevices, AChecksumOfAGetWaitsForTheOwnersStream) {
  auto ends = join(kStreamLink);
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(cudaMemsetAsync(source.data(), i, kBytes, stream->get()), cudaSuccess);
  }
  OfferOptions ordered;
  ordered.direction = Direction::kGet;
  ordered.stream = CudaStream(stream->get());
  const auto room = ends.first.offer(source, 0, kBytes, ordered);
  ASSERT_TRUE(room) << room.error().to_string();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto step = [&] {
    ends.first.progress();
    ends.second.progress();
    return std::chrono::steady_clock::now() < end;
  };
  while (ends.second.credits(Direction::kGet) == 0) ASSERT_TRUE(step());
  TransferOptions checked;
  checked.checksum = true;
  const auto got =
      ends.second.get(ends.second.take_lease(Direction::kGet).value(), target, 0, kBytes, checked);
  ASSERT_TRUE(got) << got.error().to_string();
  while (!ends.second.done(*got)) ASSERT_TRUE(step());
  const auto received = ends.second.take_result(*got);
  ASSERT_TRUE(received) << received.error().to_string();
  EXPECT_TRUE(received->verified);
  expect_holds(target, std::vector<std::byte>(kBytes, std::byte{199}));
}

TEST_F(TransportDevices, AViewOfMemoryThatWasFreedIsRefused) {
  void* block = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&block, kBytes), cudaSuccess);
  const auto view = Region::view_device(*devices_, 0, {static_cast<std::byte*>(block), kBytes});
  ASSERT_TRUE(view) << view.error().to_string();
  EXPECT_TRUE(view->unchanged());
  ASSERT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_FALSE(view->unchanged());
}

TEST_F(TransportDevices, SharedMemoryIsSeenThroughItsDescriptor) {
  auto shared = devices_->share(0, kBytes);
  ASSERT_TRUE(shared) << shared.error().to_string();
  auto again = devices_->import(0, 0, (*shared)->fd(), kBytes);
  ASSERT_TRUE(again) << again.error().to_string();
  const Region source = region(0);
  ASSERT_TRUE(copy_in(source, 0, bytes(8)));
  auto queue = devices_->make_queue(0).value();
  ASSERT_TRUE(queue->copy((*again)->data(), source.data(), kBytes, Sides::kWithinReach));
  ASSERT_TRUE(queue->synchronize());
  again->reset();
  const Region target = region(0);
  ASSERT_TRUE(queue->copy(target.data(), (*shared)->data(), kBytes, Sides::kWithinReach));
  ASSERT_TRUE(queue->synchronize());
  expect_holds(target, bytes(8));
}

// What is exported is rounded up beyond what was asked for; nobody's leavings may be in the rest.
TEST_F(TransportDevices, AttackOnTheRestOfSharedMemoryFindsZeros) {
  for (const std::size_t asked : {std::size_t{1}, kBytes, (std::size_t{2} << 20) + 1}) {
    auto shared = devices_->share(0, asked);
    ASSERT_TRUE(shared) << shared.error().to_string();
    const std::size_t exported = (*shared)->bytes();
    ASSERT_GE(exported, asked);
    auto theirs = devices_->import(0, 0, (*shared)->fd(), exported);
    ASSERT_TRUE(theirs) << theirs.error().to_string();
    std::vector<std::byte> seen(exported, std::byte{1});
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(seen.data(), (*theirs)->data(), exported, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(exported));
  }
}

// Memory mapped for the second device alone, while the caller works on the first; by the kernel and
// by the copy engine.
TEST_F(TransportDevices, QueuesCopyWhateverDeviceIsCurrent) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  auto shared = devices_->share(second_, kBytes);
  ASSERT_TRUE(shared) << shared.error().to_string();
  const Region source = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(10)));
  auto queue = devices_->make_queue(second_).value();
  for (const Sides sides : {Sides::kAny, Sides::kWithinReach}) {
    for (const std::size_t count : {std::size_t{1} << 20, kBytes}) {
      const Region target = region(second_);
      const auto in = queue->copy((*shared)->data(), source.data(), count, sides);
      ASSERT_TRUE(in) << in.error().to_string();
      const auto moved = queue->synchronize();
      ASSERT_TRUE(moved) << moved.error().to_string();
      const auto out = queue->copy(target.data(), (*shared)->data(), count, sides);
      ASSERT_TRUE(out) << out.error().to_string();
      const auto back = queue->synchronize();
      ASSERT_TRUE(back) << back.error().to_string();
      auto expected = bytes(10);
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(count), expected.end(),
                std::byte{0});
      expect_holds(target, expected);
    }
  }
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

// From the first device to what the second has mapped, as a process pushes to another.
TEST_F(TransportDevices, QueuesPushToWhatTheyImport) {
  if (devices_->reach(0, second_) == Reach::kNone) {
    GTEST_SKIP() << "the GPUs do not reach each other";
  }
  auto theirs = devices_->share(second_, kBytes);
  ASSERT_TRUE(theirs) << theirs.error().to_string();
  auto buffer = devices_->import(second_, 0, (*theirs)->fd(), kBytes);
  ASSERT_TRUE(buffer) << buffer.error().to_string();
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(11)));
  auto pushing = devices_->make_queue(0).value();
  auto placing = devices_->make_queue(second_).value();
  for (const std::size_t part : {std::size_t{3} << 20, kBytes}) {
    for (std::size_t at = 0; at < kBytes; at += part) {
      const auto pushed = pushing->copy((*buffer)->data() + at, source.data() + at,
                                        std::min(part, kBytes - at), Sides::kWithinReach);
      ASSERT_TRUE(pushed) << pushed.error().to_string();
    }
    const auto landed = pushing->synchronize();
    ASSERT_TRUE(landed) << landed.error().to_string();
    const auto placed =
        placing->copy(target.data(), (*theirs)->data(), kBytes, Sides::kWithinReach);
    ASSERT_TRUE(placed) << placed.error().to_string();
    const auto done = placing->synchronize();
    ASSERT_TRUE(done) << done.error().to_string();
    expect_holds(target, bytes(11));
  }
}

// Sizes and places around vectors and blocks, where the kernel takes them and where the engine
// does; what lies beside them stays.
TEST_F(TransportDevices, CopiesOfEverySizeAndPlaceAreExact) {
  const Region source = region(0);
  const Region target = region(0);
  ASSERT_TRUE(copy_in(source, 0, bytes(12)));
  auto queue = devices_->make_queue(0).value();
  std::vector<std::byte> expected(kBytes);
  const auto whole = bytes(12);
  Ticket last = 0;
  std::size_t at = 0;
  for (const std::size_t count : {1U, 3U, 15U, 16U, 17U, 31U, 4096U, 16'385U, 70'001U, 262'147U}) {
    for (const std::size_t to : {0U, 1U, 15U}) {
      for (const std::size_t from : {0U, 1U, 15U}) {
        const auto ticket = queue->copy(target.data() + at + to, source.data() + at + from, count,
                                        Sides::kWithinReach);
        ASSERT_TRUE(ticket) << ticket.error().to_string();
        EXPECT_EQ(*ticket, ++last);
        std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(at + from), count,
                    expected.begin() + static_cast<std::ptrdiff_t>(at + to));
        at += (count + 63) / 16 * 16;
      }
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (Ticket before = 0; before < last;) {
    const auto now = queue->completed();
    ASSERT_TRUE(now) << now.error().to_string();
    ASSERT_GE(*now, before);
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "after copy " << *now << " of " << last;
    before = *now;
  }
  expect_holds(target, expected);
}

// Many copies of one queue, of odd sizes and from odd places, each into room of its own, with what
// lies between them untouched.
class ManyCopies {
 public:
  /// @param held  what the source is given to hold
  ManyCopies(std::unique_ptr<CopyQueue> queue, Region source, Region target,
             std::vector<std::byte> held)
      : source_(std::move(source)),
        target_(std::move(target)),
        held_(std::move(held)),
        expected_(held_.size()),
        queue_(std::move(queue)) {
    EXPECT_TRUE(copy_in(source_, 0, held_));
  }

  // As many vectors off in the target as in the source, and what `count` bytes are there.
  void copy(std::size_t count) {
    ASSERT_LE(at_ + count + 64, expected_.size());
    const std::size_t off = made_ % 16;
    const std::size_t from = made_ * 4096 % (held_.size() - count - 16) / 16 * 16 + off;
    last_ =
        queue_->copy(target_.data() + at_ + off, source_.data() + from, count, Sides::kWithinReach);
    ASSERT_TRUE(last_) << last_.error().to_string();
    ASSERT_EQ(*last_, ++made_);
    std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(from), count,
                expected_.begin() + static_cast<std::ptrdiff_t>(at_ + off));
    at_ += (count + 47) / 16 * 16;
  }
  void await() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (true) {
      const auto now = queue_->completed();
      ASSERT_TRUE(now) << now.error().to_string();
      if (*now == made_) return;
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "after copy " << *now << " of " << made_;
    }
  }
  [[nodiscard]] const Region& target() const { return target_; }
  [[nodiscard]] const std::vector<std::byte>& expected() const { return expected_; }

 private:
  Region source_;
  Region target_;
  std::vector<std::byte> held_;
  std::vector<std::byte> expected_;
  std::size_t at_ = 0;
  Ticket made_ = 0;
  Result<Ticket> last_ = Ticket{0};
  std::unique_ptr<CopyQueue> queue_;  // ends first, and waits for its copies
};

void pause_for(unsigned us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// One after the other, with pauses around the time that a kernel stays for the next.
TEST_F(TransportDevices, CopiesAfterEveryPauseAreExact) {
  if (devices_->reach(0, second_) == Reach::kNone) {
    GTEST_SKIP() << "the GPUs do not reach each other";
  }
  ManyCopies copies(devices_->make_queue(0).value(), region(0), region(second_), bytes(13));
  for (unsigned i = 0; i < 900; ++i) {
    const unsigned size = i % 7 == 0 ? 40'000 + i * 17 : 1 + i * 13 % 6000;
    ASSERT_NO_FATAL_FAILURE(copies.copy(size));
    if (i % 3 != 0) {
      ASSERT_NO_FATAL_FAILURE(copies.await());
    }
    if (i % 5 == 0) pause_for(i % 2 == 0 ? 95 + i % 10 : 20 + i % 300);
  }
  ASSERT_NO_FATAL_FAILURE(copies.await());
  expect_holds(copies.target(), copies.expected());
}

// More at once than a mailbox has room for; small ones and large ones by turns, the largest by the
// copy engine.
TEST_F(TransportDevices, CopiesBackToBackAreExact) {
  ManyCopies copies(devices_->make_queue(0).value(), region(0), region(0), bytes(14));
  for (unsigned i = 0; i < 400; ++i) {
    const unsigned size = i == 150 ? (5U << 20) + 3 : i % 50 == 0 ? 300'001 : 1 + i * 29 % 3000;
    ASSERT_NO_FATAL_FAILURE(copies.copy(size));
  }
  ASSERT_NO_FATAL_FAILURE(copies.await());
  expect_holds(copies.target(), copies.expected());
}

// While a kernel stays for the next copy, synchronize() and the end of a queue wait no longer for
// it than it takes to tell it, and another stream goes on after the copies.
TEST_F(TransportDevices, NobodyWaitsForAKernelThatStays) {
  const Region source = region(0);
  const Region target = region(0);
  const auto held = bytes(15);
  ASSERT_TRUE(copy_in(source, 0, held));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream);
  for (unsigned round = 0; round < 20; ++round) {
    auto queue = devices_->make_queue(0).value();
    std::vector<std::byte> expected(kBytes);
    for (unsigned i = 0; i < 4; ++i) {
      const std::size_t to = i * std::size_t{8192};
      const std::size_t from = round * 4096 + i * 16;
      ASSERT_TRUE(queue->copy(target.data() + to, source.data() + from, 4096, Sides::kWithinReach));
      std::copy_n(&held[from], 4096, &expected[to]);
      if (round % 3 != 0) continue;
      ASSERT_TRUE(queue->precede(0, CudaStream(stream->get())));
      ASSERT_EQ(cudaMemsetAsync(target.data() + to, 0x11, 4096, stream->get()), cudaSuccess);
      std::fill_n(&expected[to], 4096, std::byte{0x11});
    }
    if (round % 3 == 1) {
      ASSERT_TRUE(queue->synchronize());
    } else if (round % 3 == 2) {
      ASSERT_TRUE(queue->precede(0, CudaStream(stream->get())));
    }
    ASSERT_TRUE(stream->synchronise());
    queue.reset();
    expect_holds(target, expected);
  }
}

TEST_F(TransportDevices, ThePeerLinkPushes) {
  auto ends = join(kPeerStreamLink);
  const PathReport path = ends.first.path();
  if (path.direct == Reach::kNone) GTEST_SKIP() << path.why_staged;
  const Region source = region(0);
  const Region target = region(second_);
  ASSERT_TRUE(copy_in(source, 0, bytes(9)));
  send(ends.first, source, ends.second, target);
  expect_holds(target, bytes(9));
  EXPECT_EQ(ends.first.path().staged_bytes, 0U);
  EXPECT_EQ(ends.second.path().staged_bytes, 0U);
}

TEST_F(TransportDevices, TwoGpusReachEachOther) {
  if (devices_->count() < 2) GTEST_SKIP() << "one GPU here; two are needed";
  EXPECT_EQ(devices_->reach(0, 1), devices_->reach(1, 0));
  auto ends = join(kPeerStreamLink);
  EXPECT_EQ(ends.first.path().direct, devices_->reach(0, 1)) << ends.first.path().why_staged;
}

}  // namespace
}  // namespace framewire::gpu_tests
