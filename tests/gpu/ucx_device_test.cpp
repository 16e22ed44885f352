// UCX that sends from GPU memory and receives into it, without a network card: over lanes on which
// it copies itself. What a card would do instead is not tested here, nor anywhere.
#ifdef FRAMEWIRE_HAS_UCX
#include <future>
#include <memory>
#include <tests/gpu/devices.hpp>
#include <transport/channel.hpp>
#include <transport/peer/device_link.hpp>
#include <transport/ucx/port.hpp>

namespace framewire::gpu_tests {
namespace {

class NeverLost final : public ucx::Lifeline {
 public:
  Result<void> check() override { return {}; }
};

class UcxDevice : public TransportDevices {
 protected:
  void SetUp() override {
    TransportDevices::SetUp();
    if (IsSkipped()) return;
    if (emulated()) GTEST_SKIP() << "UCX knows nothing of emulated devices";
  }
  Result<std::unique_ptr<ucx::Port>> port() {
    const ucx::DirectWish wish{devices_, 0, ucx::DirectWish::Proof::kUcx};
    return ucx::make_port(ucx::Lanes::kTcp, "lo", ucx::PortSide::kDials, wish);
  }
  static Result<Channel> channel(ucx::Port& port, const std::vector<std::byte>& blob) {
    const auto deadline = base::Clock::now() + std::chrono::seconds(10);
    auto link = port.join(blob, std::make_unique<NeverLost>(), deadline);
    if (!link) return fail(link.error());
    ChannelConfig config;
    config.epoch = 7;
    config.peer = "the other end";
    return make_channel(peer::make_device_link(std::move(*link)), config);
  }
  // Both ends in this process, on the first device.
  void meet() {
    auto one = port();
    auto other = port();
    ASSERT_TRUE(one) << one.error().to_string();
    ASSERT_TRUE(other) << other.error().to_string();
    const auto blob = (*one)->blob();
    const auto back = (*other)->blob();
    auto joining = std::async(std::launch::async, [&] { return channel(**other, blob); });
    auto near = channel(**one, back);
    auto far = joining.get();
    ASSERT_TRUE(near) << near.error().to_string();
    ASSERT_TRUE(far) << far.error().to_string();
    if (!near->path().gpudirect) GTEST_SKIP() << near->path().why_staged;
    near_ = std::make_unique<Channel>(std::move(*near));
    far_ = std::make_unique<Channel>(std::move(*far));
  }
  void expect_direct(const Channel& channel) {
    EXPECT_EQ(channel.path().staged_bytes, 0U) << state(channel);
    EXPECT_TRUE(check_path(channel.path(), Requirement::kGpudirect)) << state(channel);
  }
  void exchange() {
    meet();
    if (IsSkipped() || HasFatalFailure()) return;
    const Region one = region(0);
    const Region other = region(0);
    ASSERT_TRUE(copy_in(one, 0, bytes(21)));
    send(*near_, one, *far_, other);
    expect_holds(other, bytes(21));
    ASSERT_TRUE(copy_in(other, 0, bytes(22)));
    send(*far_, other, *near_, one);
    expect_holds(one, bytes(22));
    // Payloads that UCX would send along with their heads if it were let.
    auto expected = bytes(22);
    for (const std::size_t count : {1U, 100U, 8'000U, 70'001U}) {
      ASSERT_TRUE(copy_in(other, 0, bytes(static_cast<unsigned>(count))));
      send(*far_, other, *near_, one, {}, count);
      std::copy_n(bytes(static_cast<unsigned>(count)).begin(), count, expected.begin());
      expect_holds(one, expected);
    }
    expect_direct(*near_);
    expect_direct(*far_);
    // From and to the host, which goes past the device's slots at that end.
    const Region host = Region::allocate_host(kBytes).value();
    send(*near_, one, *far_, host);
    expect_holds(host, expected);
    ASSERT_TRUE(copy_in(host, 0, bytes(23)));
    send(*far_, host, *near_, one);
    expect_holds(one, bytes(23));
    send(*far_, host, *near_, one, {}, 100);
    expect_holds(one, bytes(23));
    expect_direct(*near_);
    expect_direct(*far_);
  }

  std::unique_ptr<Channel> near_;
  std::unique_ptr<Channel> far_;
};

TEST_F(UcxDevice, TcpCarriesDeviceMemory) { exchange(); }

TEST_F(UcxDevice, ChannelsThatEndInTheMiddleLetGo) {
  meet();
  if (IsSkipped() || HasFatalFailure()) return;
  const Region one = region(0);
  const Region other = region(0);
  const auto room = far_->offer(other, 0, kBytes);
  ASSERT_TRUE(room);
  while (near_->credits(Direction::kPut) == 0) {
    far_->progress();
    near_->progress();
  }
  ASSERT_TRUE(near_->put(near_->take_lease(Direction::kPut).value(), one, 0, kBytes));
  for (int i = 0; i < 50; ++i) {
    near_->progress();
    far_->progress();
  }
  near_.reset();
  far_->close();
  EXPECT_FALSE(far_->take_result(*room));
  far_.reset();
  ASSERT_TRUE(copy_in(other, 0, bytes(24)));  // the device goes on
  expect_holds(other, bytes(24));
}

TEST_F(UcxDevice, ACardsWritesCanBeSettled) {
  const auto settled = devices_->settle_writes(0);
  EXPECT_TRUE(settled || settled.error().code() == StatusCode::kUnsupported)
      << settled.error().to_string();
}

}  // namespace
}  // namespace framewire::gpu_tests
#endif
