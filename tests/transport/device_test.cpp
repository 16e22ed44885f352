// Device memory in transport: who touches it, in which order, what is reported, and what becomes of
// copies under way when something ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <tests/transport/ends_test.hpp>
#include <tests/transport/fake_device.hpp>
#include <thread>
#include <transport/device_copy.hpp>

namespace framewire::transport::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kMuch = std::uint64_t{3} << 20;

class Device : public EndsTest {
 protected:
  void SetUp() override {
    ends_ = connect_ends(GetParam());
    memory_ = allocate_end(GetParam(), true, kFarBytes);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) ends_->step();
  }
  Lease lease(Direction direction, std::uint64_t length) {
    return EndsTest::lease(direction, 0, length);
  }
  // Offers the first 1000 bytes of memory_ after a stream, and waits until the far end may use
  // them.
  Result<Transfer> offer_after(FakeStream& stream, Direction direction = Direction::kPut) {
    OfferOptions ordered;
    ordered.direction = direction;
    ordered.stream = CudaStream(&stream);
    const auto room = near().offer(memory_, 0, 1000, ordered);
    EXPECT_TRUE(room) << room.error().to_string();
    const char* const credits = direction == Direction::kPut ? "credits put" : "credits get";
    EXPECT_TRUE(until([&] { return far(credits) == "1"; }));
    return room;
  }
  // The far end's get of those, with a checksum.
  std::string far_gets() { return far(fmt::format("get {} 0 1000 0 10000 1", far("take get"))); }

  WithDevices devices_;
  Region memory_;
};

bool staged(const std::string& name) {
  return name.starts_with("tls") || name.starts_with("shared") ||
         name.find("card_far_") != std::string::npos;
}
bool by_card(const std::string& name) { return name.find("card_") != std::string::npos; }

TEST_P(Device, ThePathSaysWhatWasStaged) {
  fill({memory_, 0, kMuch}, 5);
  ASSERT_TRUE(result(near().put(lease(Direction::kPut, kMuch), memory_, 0, kMuch)));
  EXPECT_EQ(far(fmt::format("check 0 {} 5", kMuch)), "yes");
  const PathReport path = near().path();
  EXPECT_EQ(path.staged_bytes, staged(GetParam()) ? kMuch : 0);
  const bool pushed = !staged(GetParam()) && !by_card(GetParam());
  EXPECT_EQ(path.direct, pushed ? Reach::kNvlink : Reach::kNone) << path.why_staged;
  EXPECT_EQ(path.gpudirect, by_card(GetParam()) && !staged(GetParam()));
}

TEST_P(Device, APutWaitsForItsStream) {
  FakeStream stream;
  stream.open = false;
  TransferOptions ordered;
  ordered.stream = CudaStream(&stream);
  const Lease target = lease(Direction::kPut, kMuch);
  const auto sent = near().put(target, memory_, 0, kMuch, ordered);
  ASSERT_TRUE(sent) << sent.error().to_string();
  steps(50);
  EXPECT_FALSE(near().done(*sent));
  EXPECT_EQ(far(fmt::format("zero 0 {}", kMuch)), "yes");
  fill({memory_, 0, kMuch}, 9);  // what the stream would have written
  stream.open = true;
  ASSERT_TRUE(result(sent));
  EXPECT_EQ(far(fmt::format("check 0 {} 9", kMuch)), "yes");
}

TEST_P(Device, AnOtherTransferNeedNotWaitForThatStream) {
  FakeStream stream;
  stream.open = false;
  TransferOptions ordered;
  ordered.stream = CudaStream(&stream);
  const Lease first = lease(Direction::kPut, 100);
  far("offer put 5000 100 20000");
  ASSERT_TRUE(until([&] { return near().credits(Direction::kPut) > 0; }));
  const auto slow = near().put(first, memory_, 0, 100, ordered);
  fill({memory_, 500, 100}, 4);
  const Lease second = near().take_lease(Direction::kPut).value();
  ASSERT_TRUE(result(near().put(second, memory_, 500, 100)));
  EXPECT_EQ(far("check 5000 100 4"), "yes");
  stream.open = true;
  EXPECT_TRUE(result(slow));
}

TEST_P(Device, AnOfferWaitsForItsStreamAndTheStreamForTheBytes) {
  FakeStream stream;
  stream.open = false;
  fill({memory_, 0, 1000}, 1);  // still read by what the stream holds
  const auto room = offer_after(stream);
  far("fill 0 1000 2");
  const auto sent = far(fmt::format("put {} 0 1000 0 10000 0", far("take put")));
  steps(200);
  EXPECT_TRUE(holds({memory_, 0, 1000}, 1));
  EXPECT_FALSE(near().done(*room));
  EXPECT_EQ(stream.waits, 0);
  stream.open = true;
  ASSERT_TRUE(result(room));
  EXPECT_GE(stream.waits, 1);
  EXPECT_EQ(far("result " + sent), "ok 1000 0");
  EXPECT_TRUE(holds({memory_, 0, 1000}, 2));
}

TEST_P(Device, WhatAStreamWaitsForIsConfirmedOnlyOnceItIsInPlace) {
  FakeStream stream;
  const auto room = offer_after(stream);
  far("fill 0 1000 2");
  const std::string lease = far("take put");
  devices_->set_pace(GetParam().ends_with("apart_gpus") ? 0 : 500);
  const auto sent = far(fmt::format("put {} 0 1000 0 10000 0", lease));
  // The user may go on before the copy is done, but the memory is not for anybody else yet.
  ASSERT_TRUE(until([&] { return near().done(*room); }));
  if (near().uncertain() > 0) {
    EXPECT_EQ(near().offer(memory_, 0, 10).error().code(), StatusCode::kBusy);
  } else {
    EXPECT_FALSE(GetParam().ends_with("apart_gpus"));
  }
  EXPECT_TRUE(near().take_result(*room));
  devices_->set_pace(1 << 20);
  EXPECT_EQ(far("result " + sent), "ok 1000 0");
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
  EXPECT_TRUE(holds({memory_, 0, 1000}, 2));
}

TEST_P(Device, ChecksumsAreOfTheBytesOnTheDevice) {
  fill({memory_, 0, kMuch}, 6);
  TransferOptions checked;
  checked.checksum = true;
  const auto done = result(near().put(lease(Direction::kPut, kMuch), memory_, 0, kMuch, checked));
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_TRUE(done->verified);
  EXPECT_EQ(far("result " + offer_), fmt::format("ok {} 1", kMuch));
  FakeStream stream;
  checked.stream = CudaStream(&stream);
  const auto both = near().put(lease(Direction::kPut, 10), memory_, 0, 10, checked);
  EXPECT_EQ(both.error().code(), StatusCode::kInvalidInput);
}

TEST_P(Device, ANullStreamIsRefused) {
  void* const null = nullptr;
  TransferOptions ordered;
  ordered.stream = CudaStream(null);
  const auto sent = near().put(lease(Direction::kPut, 10), memory_, 0, 10, ordered);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(sent.error().subject(), "stream");
}

// The peer asks for a checksum of what the owner's stream has yet to write.
TEST_P(Device, AChecksumOfAGetWaitsForTheOwnersStream) {
  FakeStream stream;
  stream.open = false;
  const auto room = offer_after(stream, Direction::kGet);
  const auto got = far_gets();
  steps(50);
  EXPECT_FALSE(near().done(*room));
  EXPECT_EQ(near().revoke(*room).error().code(), StatusCode::kBusy);
  fill({memory_, 0, 1000}, 8);  // what the stream would have written
  stream.open = true;
  const auto served = result(room);
  ASSERT_TRUE(served) << served.error().to_string();
  EXPECT_EQ(far("result " + got), "ok 1000 1");
  EXPECT_EQ(far("check 0 1000 8"), "yes");
}

TEST_P(Device, WhoWaitsForAStreamLetsGoWithTheConnection) {
  FakeStream stream;
  stream.open = false;
  const auto room = offer_after(stream, Direction::kGet);
  far_gets();
  steps(50);
  ends_->kill_far();
  EXPECT_EQ(result(room).error().code(), StatusCode::kPeerLost);
  EXPECT_EQ(near().uncertain(), 0U);
}

TEST_P(Device, MemoryIsPinnedWhileACopyOfADeadPeersTransferGoesOn) {
  const auto room = near().offer(memory_, 0, 1000);
  ASSERT_TRUE(room);
  const Lease target = lease(Direction::kPut, kMuch);
  devices_->set_pace(0);
  const auto sent = near().put(target, memory_, 1 << 20, kMuch);
  steps(20);
  ends_->kill_far();
  ASSERT_TRUE(until([&] { return near().lost().has_value(); }));
  EXPECT_EQ(result(room).error().code(), StatusCode::kPeerLost);
  EXPECT_EQ(result(sent).error().code(), StatusCode::kPeerLost);
  if (!GetParam().starts_with("loopback")) {  // whose end waits for the copy
    EXPECT_EQ(near().uncertain(), 1U);
    EXPECT_FALSE(memory_.block()->pins.hold(1 << 20, 100, true));
  }
  devices_->set_pace(1 << 20);
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
  EXPECT_TRUE(memory_.block()->pins.hold(1 << 20, 100, true));
  memory_.block()->pins.release(1 << 20, 100, true);
}

TEST_P(Device, ARevokedLeaseIsRefusedBeforeAnythingIsPlaced) {
  const auto room = near().offer(memory_, 0, kMuch);
  ASSERT_TRUE(room);
  ASSERT_TRUE(until([&] { return far("credits put") == "1"; }));
  const std::string held = far("take put");
  ASSERT_TRUE(near().revoke(*room));
  far(fmt::format("fill 0 {} 3", kMuch));
  const auto sent = far(fmt::format("put {} 0 {} 0 10000 0", held, kMuch));
  EXPECT_THAT(far("result " + sent), StartsWith("denied"));
  EXPECT_TRUE(all_zero({memory_, 0, kMuch}));
  // What was pushed or staged for it has not used anything up.
  const auto again = near().offer(memory_, 0, kMuch);
  ASSERT_TRUE(until([&] { return far("credits put") == "1"; }));
  far(fmt::format("put {} 0 {} 0 10000 0", far("take put"), kMuch));
  EXPECT_TRUE(result(again));
  EXPECT_TRUE(holds({memory_, 0, kMuch}, 3));
}

TEST_P(Device, AHangingCopyMeansADeadlineAndTheMemoryStaysPinned) {
  const bool waits = GetParam().starts_with("loopback");  // whose end waits for the copy
  const Lease target = lease(Direction::kPut, 1000);
  devices_->set_pace(0);
  TransferOptions soon;
  soon.deadline_ms = 50;
  const auto sent = near().put(target, memory_, 0, 1000, soon);
  EXPECT_EQ(result(sent).error().code(), StatusCode::kDeadline);
  EXPECT_TRUE(near().lost().has_value());
  EXPECT_TRUE(waits || near().uncertain() == 1);
  devices_->set_pace(1 << 20);
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
}

TEST_P(Device, ADeviceThatIsLostEndsTheChannel) {
  const Lease target = lease(Direction::kPut, 1000);
  devices_->set_lost(true);
  const auto sent = near().put(target, memory_, 0, 1000);
  const auto ended = result(sent);
  EXPECT_EQ(ended.error().code(), StatusCode::kDeviceLost) << ended.error().to_string();
  ASSERT_TRUE(near().lost().has_value());
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
}

TEST_P(Device, AnAddressThatWasGivenAwayIsNotTheOldRegion) {
  auto& devices = *devices_;
  std::byte* const block = devices.allocate(0, 4096).value();
  const Region view = Region::view_device(devices, 0, {block, 4096}).value();
  ASSERT_TRUE(near().offer(view, 0, 10));
  devices.release(0, block);
  std::byte* again = devices.allocate(0, 4096).value();  // most likely the same address
  const auto stale = near().offer(view, 100, 10);
  EXPECT_EQ(stale.error().code(), StatusCode::kInvalidInput) << (again == block);
  devices.release(0, again);
}

TEST_P(Device, AStreamIsForDeviceMemory) {
  FakeStream stream;
  OfferOptions ordered;
  ordered.stream = CudaStream(&stream);
  const Region host = Region::allocate_host(100).value();
  EXPECT_EQ(near().offer(host, 0, 10, ordered).error().code(), StatusCode::kInvalidInput);
}

INSTANTIATE_TEST_SUITE_P(Links, Device,
                         ::testing::Values("loopback_gpus", "tls_gpus", "tls_apart_gpus",
                                           "peer_stream_gpus", "peer_stream_apart_gpus",
                                           "shared_gpus", "peer_gpus", "card_gpus",
                                           "card_near_gpus", "card_far_gpus"),
                         [](const auto& which) { return which.param; });
#ifdef FRAMEWIRE_HAS_UCX
INSTANTIATE_TEST_SUITE_P(UcxLinks, Device,
                         ::testing::Values("ucx_card_gpus", "ucx_card_near_gpus",
                                           "ucx_card_far_gpus"),
                         [](const auto& which) { return which.param; });
#endif

TEST(DeviceGuard, TheAddressFaults) {
  const Region region = Region::allocate_device(FakeDevices::get(), 0, 4096).value();
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile std::byte*>(region.data())), "");
}

TEST(DeviceGuard, EverythingIsGivenBack) {
  const auto before = FakeDevices::get().alive();
  {
    auto ends = connect_ends("peer_stream_gpus");
    const Region memory = allocate_end("peer_stream_gpus", true, kMuch);
    ends->far("offer put 0 3145728 20000");
    while (ends->near().credits(Direction::kPut) == 0) ends->step();
    const auto lease = ends->near().take_lease(Direction::kPut).value();
    ASSERT_TRUE(ends->near().put(lease, memory, 0, kMuch));
    for (int i = 0; i < 3; ++i) ends->step();  // in the middle of it
  }
  EXPECT_EQ(FakeDevices::get().alive(), before);
}

// Payloads whose bytes the receiving device waits for itself, of parts that a single word tells and
// of such that several do. The far end's copies go on when this one's are asked for.
class DeviceArrival : public ::testing::Test {
 protected:
  void receive(std::uint64_t bytes, int seed) {
    SCOPED_TRACE(bytes);
    const auto room = ends_->near().offer(memory_, 0, bytes);
    ASSERT_TRUE(room) << room.error().to_string();
    while (ends_->far("credits put") == "0") ends_->step();
    ends_->far(fmt::format("fill 0 {} {}", bytes, seed));
    const auto sent =
        ends_->far(fmt::format("put {} 0 {} 0 10000 0", ends_->far("take put"), bytes));
    EXPECT_TRUE(until(*ends_, [&] { return ends_->near().done(*room); }));
    EXPECT_TRUE(ends_->near().take_result(*room));
    EXPECT_THAT(ends_->far("result " + sent), StartsWith("ok"));
    EXPECT_TRUE(holds({memory_, 0, bytes}, seed));
  }

  WithDevices devices_;
  std::unique_ptr<Ends> ends_ = connect_ends("peer_stream_gpus");
  Region memory_ = allocate_end("peer_stream_gpus", true, kMuch);
};

TEST_F(DeviceArrival, BytesThatComeInTimeAreCopiedOnceByTheDevice) {
  devices_->set_patience(1000);
  devices_->set_pace(1000);
  static_cast<void>(devices_->take_arrivals());
  for (const std::uint64_t bytes : {100, 4096, 5000, 70'000}) {
    ASSERT_NO_FATAL_FAILURE(receive(bytes, static_cast<int>(bytes % 7)));
    EXPECT_EQ(devices_->take_arrivals(), std::pair(1U, 0U));
  }
}

TEST_F(DeviceArrival, BytesThatComeLateAreCopiedWhenTheHostSeesThem) {
  devices_->set_patience(0);
  devices_->set_pace(1000);
  static_cast<void>(devices_->take_arrivals());
  ASSERT_NO_FATAL_FAILURE(receive(5000, 1));
  EXPECT_EQ(devices_->take_arrivals(), std::pair(0U, 1U));
  // Then the device is spared for a while.
  for (int i = 0; i < 64; ++i) ASSERT_NO_FATAL_FAILURE(receive(70'000, i % 7));
  EXPECT_EQ(devices_->take_arrivals(), std::pair(0U, 0U));
  devices_->set_patience(1000);
  ASSERT_NO_FATAL_FAILURE(receive(5000, 2));
  EXPECT_EQ(devices_->take_arrivals(), std::pair(1U, 0U));
}

TEST_F(DeviceArrival, ADeviceThatWaitsIsNotWaitedForWhenTheConnectionEnds) {
  const auto room = ends_->near().offer(memory_, 0, kMuch);
  while (ends_->far("credits put") == "0") ends_->step();
  devices_->set_patience(1000);
  devices_->set_pace(10);
  static_cast<void>(devices_->take_arrivals());
  ends_->far(fmt::format("put {} 0 {} 0 10000 0", ends_->far("take put"), kMuch));
  for (int i = 0; i < 20; ++i) ends_->step();
  ends_->near().close();
  EXPECT_EQ(ends_->near().uncertain(), 1U);
  EXPECT_TRUE(until(*ends_, [&] { return ends_->near().uncertain() == 0; }));
  const auto [came, given_up] = devices_->take_arrivals();
  EXPECT_EQ(came, 0U);
  EXPECT_GT(given_up, 0U);  // parts that were waited for when it ended
  EXPECT_FALSE(ends_->near().take_result(*room));
  EXPECT_TRUE(all_zero({memory_, 0, kMuch}));
}

TEST(DevicePath, WithoutPeerAccessTheBytesAreStagedAndTheReportSaysWhy) {
  WithDevices devices;
  devices->set_reach(Reach::kNone);
  auto ends = connect_ends("peer_stream_gpus");
  const PathReport path = ends->near().path();
  EXPECT_EQ(path.direct, Reach::kNone);
  EXPECT_THAT(path.why_staged, HasSubstr("no peer access"));
  EXPECT_TRUE(check_path(path, Requirement::kNothing));
  const auto refused = check_path(path, Requirement::kNvlink);
  EXPECT_EQ(refused.error().code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("no peer access"));
  EXPECT_THAT(refused.error().message(), HasSubstr("framewire doctor"));
}

TEST(DevicePath, ARequirementIsMetByWhatIsBetter) {
  PathReport path;
  path.direct = Reach::kNvlink;
  EXPECT_TRUE(check_path(path, parse_requirement("p2p").value()));
  EXPECT_TRUE(check_path(path, parse_requirement("nvlink").value()));
  EXPECT_FALSE(check_path(path, parse_requirement("gpudirect").value()));
  path.direct = Reach::kP2p;
  EXPECT_FALSE(check_path(path, Requirement::kNvlink));
  EXPECT_FALSE(parse_requirement("pigeon"));
}

}  // namespace
}  // namespace framewire::transport::testing
