// What tests of transport over real devices share.
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <framewire/transport.hpp>
#include <string>
#include <tests/gpu/gpu.hpp>
#include <thread>
#include <transport/device.hpp>
#include <transport/device_copy.hpp>
#include <utility>
#include <vector>

namespace framewire::gpu_tests {

using namespace transport;

inline constexpr std::size_t kBytes = std::size_t{9} << 20;  // more parts than one

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
  // Sends the first bytes of a region to the start of another, over a pair of channels.
  static void send(Channel& from, const Region& source, Channel& to, const Region& target,
                   const TransferOptions& options = {}, std::size_t count = kBytes) {
    const auto room = to.offer(target, 0, count);
    ASSERT_TRUE(room) << room.error().to_string();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto step = [&] {
      from.progress();
      to.progress();
      return std::chrono::steady_clock::now() < end;
    };
    while (from.credits(Direction::kPut) == 0) {
      ASSERT_TRUE(step()) << "no lease; sender: " << state(from) << "; receiver: " << state(to);
    }
    const auto put = from.put(from.take_lease(Direction::kPut).value(), source, 0, count, options);
    ASSERT_TRUE(put) << put.error().to_string();
    while (!from.done(*put) || !to.done(*room)) {
      ASSERT_TRUE(step()) << "no end; sender: " << state(from) << "; receiver: " << state(to);
    }
    const auto sent = from.take_result(*put);
    const auto received = to.take_result(*room);
    EXPECT_TRUE(sent) << "the sender: " << sent.error().to_string();
    EXPECT_TRUE(received) << "the receiver: " << received.error().to_string();
    EXPECT_TRUE(sent && received) << "sender: " << state(from) << "; receiver: " << state(to);
  }
  static std::string state(const Channel& channel) {
    const PathReport path = channel.path();
    return fmt::format("{}, {} bytes staged{}{}, {}", path.name, path.staged_bytes,
                       path.why_staged.empty() ? "" : " because ", path.why_staged,
                       channel.lost() ? channel.lost()->to_string() : "open");
  }
  static void expect_holds(const Region& region, const std::vector<std::byte>& expected) {
    std::vector<std::byte> held(kBytes);
    const auto copied = copy_out(region, 0, held);
    ASSERT_TRUE(copied) << copied.error().to_string();
    const auto wrong = std::mismatch(held.begin(), held.end(), expected.begin(), expected.end());
    EXPECT_TRUE(held == expected) << "from byte " << wrong.first - held.begin() << " on";
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

}  // namespace framewire::gpu_tests
