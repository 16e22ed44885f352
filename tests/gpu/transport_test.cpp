// Transport over real devices: what tests/transport shows on a fake one, on CUDA's.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <framewire/transport.hpp>
#include <numeric>
#include <thread>
#include <vector>
#include "gpu.hpp"
#include "gpu/stream.hpp"
#include "transport/device.hpp"
#include "transport/device_copy.hpp"

namespace framewire::gpu_tests {
namespace {

using namespace transport;

constexpr std::size_t kBytes = std::size_t{9} << 20;  // more parts than one

class TransportDevices : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    auto devices = cuda_devices();
    ASSERT_TRUE(devices) << devices.error().to_string();
    devices_ = *devices;
    second_ = devices_->count() > 1 ? 1 : 0;
  }
  static std::vector<std::byte> bytes(unsigned seed) {
    std::vector<std::byte> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) {
      bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8) * 29 + seed);
    }
    return bytes;
  }
  Region region(int device) {
    auto made = Region::allocate_device(*devices_, device, kBytes);
    EXPECT_TRUE(made) << made.error().to_string();
    return *made;
  }
  // Sends all of a region into all of another, over a pair of channels.
  static void send(Channel& from, const Region& source, Channel& to, const Region& target,
                   const TransferOptions& options = {}) {
    const auto room = to.offer(target, 0, kBytes);
    ASSERT_TRUE(room) << room.error().to_string();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto step = [&] {
      from.progress();
      to.progress();
      return std::chrono::steady_clock::now() < end;
    };
    while (from.credits(Direction::kPut) == 0) ASSERT_TRUE(step());
    const auto put = from.put(from.take_lease(Direction::kPut).value(), source, 0, kBytes, options);
    ASSERT_TRUE(put) << put.error().to_string();
    while (!from.done(*put) || !to.done(*room)) ASSERT_TRUE(step());
    const auto sent = from.finish(*put);
    ASSERT_TRUE(sent) << sent.error().to_string();
    ASSERT_TRUE(to.finish(*room));
  }
  static void expect_holds(const Region& region, const std::vector<std::byte>& expected) {
    std::vector<std::byte> held(kBytes);
    ASSERT_TRUE(copy_out(region, 0, held));
    EXPECT_TRUE(held == expected);
  }
  SessionOptions options(int device, const char* link) {
    SessionOptions options;
    options.security.insecure = true;
    options.devices = devices_;
    options.device = device;
    options.links = {link};
    return options;
  }
  // Both ends over a socket, in this process.
  std::pair<Channel, Channel> join(const char* link) {
    auto listener = Listener::listen("127.0.0.1:0", options(0, link)).value();
    Result<Channel> far = fail(StatusCode::kInternal, "");
    std::thread connecting([&] {
      far = connect(fmt::format("127.0.0.1:{}", listener.port()), options(second_, link));
    });
    auto near = listener.accept(10'000);
    connecting.join();
    return {std::move(near).value(), std::move(far).value()};
  }

  DeviceMemory* devices_ = nullptr;
  int second_ = 0;
};

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
  ordered.stream = stream->get();
  send(ends.first, source, ends.second, target, ordered);
  expect_holds(target, std::vector<std::byte>(kBytes, std::byte{0x5a}));
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
  ASSERT_TRUE(queue->copy((*again)->data(), source.data(), kBytes));
  ASSERT_TRUE(queue->finish());
  again->reset();
  const Region target = region(0);
  ASSERT_TRUE(queue->copy(target.data(), (*shared)->data(), kBytes));
  ASSERT_TRUE(queue->finish());
  expect_holds(target, bytes(8));
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
