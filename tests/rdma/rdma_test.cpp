// The RDMA link on the device that FRAMEWIRE_TEST_RDMA names: who may connect, what keys guard, and
// for how long. Run by run.sh in virtual machines with soft-RoCE.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cstdio>
#include <future>
#include <random>
#include <tests/transport/ends_test.hpp>
#include <tests/transport/fake_device.hpp>
#include <tests/transport/far_machine.hpp>
#include <tests/transport/ucx/attacks.hpp>
#include <thread>
#include <transport/bytes.hpp>
#include <transport/ucx/context.hpp>
#include <transport/ucx/direct.hpp>

namespace framewire::transport::testing {
namespace {

using base::Clock;

constexpr int kPatience_ms = 10'000;
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kBlobHeadBytes = kKeyBytes + 8 + 1;  // key, number, whether GPUDirect

Clock::time_point soon() { return Clock::now() + std::chrono::milliseconds(kPatience_ms); }

UcxSettings ours() {
  const auto settings = ucx::settings_of(ucx::Lanes::kVerbs, rdma_device());
  return {settings->begin(), settings->end()};
}

// As ours, but for what UCX does about registrations if it is left alone.
UcxSettings caching() {
  UcxSettings settings = ours();
  std::erase_if(settings, [](const auto& one) {
    return one.first == "RCACHE_ENABLE" || one.first.ends_with("REG_METHODS");
  });
  return settings;
}

// Where a listening port's blob says that it is to be dialled.
ucx::FabricAddress address_in(const std::vector<std::byte>& blob) {
  return ucx::decode_address(std::span(blob).subspan(kBlobHeadBytes)).value();
}

std::vector<std::byte> blob_with(std::uint64_t number) {
  std::vector<std::byte> blob(kBlobHeadBytes);
  store(blob.data() + kKeyBytes, number);
  return blob;
}

// Registrations of memory that the kernel knows on all devices, by whatever process.
int registrations() {
  std::FILE* pipe = ::popen("rdma resource show", "r");
  char line[512] = {};
  int count = 0;
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    const auto at = text.find(" mr ");
    if (at != std::string::npos) count += std::stoi(text.substr(at + 4));
  }
  ::pclose(pipe);
  return count;
}

TEST(Rdma, StrangersAreRejectedAndThePeerIsNot) {
  auto owner = ucx::make_port(ucx::Lanes::kVerbs, rdma_device(), ucx::PortSide::kListens);
  ASSERT_TRUE(owner) << owner.error().to_string();
  auto peer = ucx::make_port(ucx::Lanes::kVerbs, rdma_device());
  ASSERT_TRUE(peer);
  const auto there = (*owner)->blob();
  const auto back = (*peer)->blob();
  auto joining = std::async(
      std::launch::async, [&] { return (*owner)->join(back, std::make_unique<Alive>(), soon()); });
  const auto number = load<std::uint64_t>(back.data() + kKeyBytes);
  for (const std::uint64_t guess : {std::uint64_t{0}, number + 1, ~number}) {
    auto stranger = OneSided::open(ours(), guess, kPatience_ms).value();
    ASSERT_TRUE(stranger->reach(address_in(there)));
    EXPECT_FALSE(stranger->meet([] {}));
  }
  auto meeting = (*peer)->join(there, std::make_unique<Alive>(), soon());
  ASSERT_TRUE(meeting) << meeting.error().to_string();
  auto met = joining.get();
  ASSERT_TRUE(met) << met.error().to_string();
  EXPECT_EQ((*met)->path().name, "ucx rc_verbs on " + rdma_device());
  // Nobody listens any more, not even for who knows the number.
  auto late = OneSided::open(ours(), number, kPatience_ms).value();
  ASSERT_TRUE(late->reach(address_in(there)));
  EXPECT_FALSE(late->meet([] {}));
}

TEST(Rdma, NobodyComingIsADeadline) {
  auto owner = ucx::make_port(ucx::Lanes::kVerbs, rdma_device(), ucx::PortSide::kListens);
  ASSERT_TRUE(owner) << owner.error().to_string();
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  const auto joined = (*owner)->join(blob_with(5), std::make_unique<Alive>(), end);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code(), StatusCode::kDeadline);
}

TEST(Rdma, DevicesAreNamedAsTheyAre) {
  for (const char* wrong : {"", "mlx9_7:1", "rxe0:9", "eth0"}) {
    const auto port = ucx::make_port(ucx::Lanes::kVerbs, wrong, ucx::PortSide::kListens);
    EXPECT_FALSE(port) << wrong;
  }
}

// The key that a program has given away works, and after unmapping it does so no longer under our
// settings; under UCX's own it still does, which is why ours are there.
TEST(Rdma, KeysDieWithTheirRegistration) {
  for (const bool cached : {false, true}) {
    const UcxSettings settings = cached ? caching() : ours();
    std::vector<std::byte> memory(64 * kPartBytes);
    auto target = OneSided::open(settings, 0, kPatience_ms).value();
    auto peer = OneSided::open(settings, 0, kPatience_ms).value();
    const auto key = target->map(memory);
    const auto pump = [&] { target->step(); };
    ASSERT_TRUE(peer->reach(target->listen(ucx::address_of(rdma_device()).value())));
    ASSERT_TRUE(peer->meet(pump));
    const std::vector<std::byte> bytes(kPartBytes, std::byte{1});
    EXPECT_TRUE(peer->put(bytes, memory.data(), key, pump));
    EXPECT_EQ(memory[kPartBytes - 1], std::byte{1});
    target->unmap();
    EXPECT_EQ(peer->put(bytes, memory.data() + kPartBytes, key, pump), cached);
    EXPECT_EQ(memory[kPartBytes], cached ? std::byte{1} : std::byte{0});
  }
}

TEST(Rdma, ATransferLeavesNoRegistrationBehind) {
  auto ends = connect_ends("ucx_rdma");
  const Region memory = Region::allocate_host(kFarBytes).value();
  ASSERT_TRUE(put_first(*ends, memory, 100));
  const int before = registrations();
  ASSERT_GT(before, 0);  // UCX's own buffers
  ASSERT_TRUE(put_first(*ends, memory, kFarBytes));
  EXPECT_EQ(registrations(), before);
  auto other = OneSided::open(ours()).value();
  const int opened = registrations();
  std::vector<std::byte> mapped(kFarBytes);
  EXPECT_FALSE(other->map(mapped).empty());
  EXPECT_EQ(registrations(), opened + 1);  // it would have been seen
}

// What is tried before a card is said to work with a device's memory: the card here registers host
// memory, and knows no other.
TEST(Rdma, TheTrialSeesWhatTheCardRegisters) {
  const auto& api = ucx::Api::get();
  ASSERT_TRUE(api);
  const auto handles = ucx::open_context(*api, ucx::Lanes::kVerbs, rdma_device());
  ASSERT_TRUE(handles) << handles.error().to_string();
  const std::vector<std::byte> memory(kFarBytes);
  const int before = registrations();
  EXPECT_TRUE(ucx::registers(**handles, memory.data(), memory.size(), UCS_MEMORY_TYPE_HOST));
  EXPECT_FALSE(ucx::registers(**handles, memory.data(), memory.size(), UCS_MEMORY_TYPE_CUDA));
  EXPECT_EQ(registrations(), before);
}

TEST(Rdma, WithoutGpudirectThePathSaysWhy) {
  WithDevices devices;
  const ucx::DirectWish wish{&*devices, 0, ucx::DirectWish::Proof::kCard};
  auto owner = ucx::make_port(ucx::Lanes::kVerbs, rdma_device(), ucx::PortSide::kListens, wish);
  ASSERT_TRUE(owner) << owner.error().to_string();
  auto peer = ucx::make_port(ucx::Lanes::kVerbs, rdma_device());
  ASSERT_TRUE(peer) << peer.error().to_string();
  const auto there = (*owner)->blob();
  const auto back = (*peer)->blob();
  auto joining = std::async(
      std::launch::async, [&] { return (*owner)->join(back, std::make_unique<Alive>(), soon()); });
  auto dialled = (*peer)->join(there, std::make_unique<Alive>(), soon());
  auto link = joining.get();
  ASSERT_TRUE(link) << link.error().to_string();
  EXPECT_FALSE((*link)->path().gpudirect);
  EXPECT_NE((*link)->path().why_staged.find("UCX"), std::string::npos)
      << (*link)->path().why_staged;
}

// Payloads of every size are fetched by the card, to where a device's slots would be.
TEST(Rdma, ACardFetchesAllThatIsForADevice) {
  WithDevices devices;
  auto ends = connect_ends("ucx_rdma_card_gpus");
  const Region memory = allocate_end("ucx_rdma_card_gpus", true, kFarBytes);
  for (const std::uint64_t bytes : {1, 100, 5000, 3'000'001}) {
    fill({memory, 0, bytes}, 4);
    ASSERT_TRUE(put_first(*ends, memory, bytes));
    EXPECT_EQ(ends->far(fmt::format("check 0 {} 4", bytes)), "yes");
  }
  const PathReport path = ends->near().path();
  EXPECT_EQ(path.name, "ucx rc_verbs on " + rdma_device() + ", gpudirect");
  EXPECT_EQ(path.staged_bytes, 0U);
  EXPECT_TRUE(check_path(path, Requirement::kGpudirect));
}

bool far_answers() {
  try {
    order_far_machine("true");
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// The cable is pulled at the far end, and plugged in again.
TEST(Rdma, ACutCableEndsTransfersInTimeAndANewConnectionWorks) {
  auto ends = connect_ends("ucx_rdma_apart");
  const Region memory = Region::allocate_host(kFarBytes).value();
  const std::uint32_t epoch = ends->near().config().epoch;
  const Lease lease = lease_to_put(*ends, kFarBytes, 60'000);
  order_far_machine("(sleep 1; ip link set eth0 down; sleep 3; ip link set eth0 up) &");
  const auto cut = Clock::now() + std::chrono::seconds(2);
  while (Clock::now() < cut) ends->step();
  const auto start = Clock::now();
  TransferOptions brief;
  brief.deadline_ms = 1000;
  const auto put = ends->near().put(lease, memory, 0, kFarBytes, brief);
  ASSERT_TRUE(put);
  while (!ends->near().done(*put) && Clock::now() < soon()) ends->step();
  EXPECT_EQ(ends->near().take_result(*put).error().code(), StatusCode::kDeadline);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3));
  EXPECT_TRUE(ends->near().lost().has_value());
  while (!far_answers()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  while (ends->near().uncertain() > 0 && Clock::now() < start + std::chrono::seconds(20)) {
    ends->step();
  }
  EXPECT_EQ(ends->near().uncertain(), 0U);
  ends = connect_ends("ucx_rdma_apart");
  EXPECT_NE(ends->near().config().epoch, epoch);
  const auto again = ends->near().offer(memory, 0, kFarBytes);
  EXPECT_TRUE(again) << again.error().to_string();
}

class OneSidedRdma : public ::testing::TestWithParam<Attack> {};

// The card enforces keys and bounds. What a program meant to be read only, UCX registers for
// writing all the same.
TEST_P(OneSidedRdma, IsStoppedByTheCardWhereUcxIsTrusted) {
  auto victim = CarelessVictim::make(ours(), kPatience_ms).value();
  auto attacker = OneSided::open(ours(), 0, kPatience_ms).value();
  ASSERT_TRUE(attacker->reach(victim->ucx().listen(ucx::address_of(rdma_device()).value())));
  ASSERT_TRUE(attacker->meet([&] { victim->step(); }));
  const std::string name = GetParam().name;
  const bool only_meant = name == "PutIntoWhatIsToBeRead" || name == "GetFromWhatIsToBeWritten";
  EXPECT_EQ(harms(*victim, *attacker, GetParam()), only_meant);
}

// The peer itself, with everything that it is entitled to know, turned against us.
TEST_P(OneSidedRdma, DoesNothingToAChannel) {
  auto owner = ucx::make_port(ucx::Lanes::kVerbs, rdma_device(), ucx::PortSide::kListens);
  ASSERT_TRUE(owner) << owner.error().to_string();
  const std::uint64_t number = std::random_device{}() + std::uint64_t{1};
  const auto there = address_in((*owner)->blob());
  auto joining = std::async(std::launch::async, [&] {
    return (*owner)->join(blob_with(number), std::make_unique<Alive>(), soon());
  });
  auto attacker = OneSided::open(ours(), number, kPatience_ms).value();
  ASSERT_TRUE(attacker->reach(there));
  ASSERT_TRUE(attacker->meet([] {}));
  auto link = joining.get();
  ASSERT_TRUE(link) << link.error().to_string();
  auto victim = OurVictim::on(std::move(*link));
  EXPECT_FALSE(harms(*victim, *attacker, GetParam()));
  EXPECT_TRUE(victim->unharmed());
}

INSTANTIATE_TEST_SUITE_P(AttackRdmaProbe, OneSidedRdma, ::testing::ValuesIn(kAttacks),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace framewire::transport::testing
