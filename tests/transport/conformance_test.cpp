// What every link must do, and what no peer may do to it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <optional>
#include <string>
#include <tests/transport/ends_test.hpp>
#include <tests/transport/faulty_link.hpp>

namespace framewire::transport::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kNearBytes = kFarBytes;

class Transport : public EndsTest {
 protected:
  void SetUp() override { join(); }

  void join() {
    ends_ = connect_ends(GetParam(), [this](std::unique_ptr<Link> link) -> std::unique_ptr<Link> {
      return std::make_unique<FaultyLink>(std::move(link), faults_);
    });
    ASSERT_NE(ends_, nullptr);
  }

  StatusCode code(const Result<Transfer>& transfer) {
    const auto ended = result(transfer);
    return ended ? StatusCode::kInternal : ended.error().code();
  }
  Result<Transfer> put(const Lease& lease, std::uint64_t length,
                       const TransferOptions& options = {}) {
    return near().put(lease, memory_, 0, length, options);
  }

  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  [[nodiscard]] Stretch part(std::uint64_t offset, std::uint64_t length) const {
    return {memory_, offset, length};
  }
  Region allocate(std::size_t bytes) const { return allocate_end(GetParam(), true, bytes); }

  Region memory_ = allocate(kNearBytes);
};

// What a peer with a key tries.
class LeaseAttack : public Transport {};

TEST_P(Transport, PutsBytesOfEverySize) {
  unsigned seed = 1;
  for (const std::uint64_t size : {0, 1, 7, 64, 100, 4096, 8192, 8193, 65'537, 1 << 20, 3 << 20}) {
    fill(part(0, size), ++seed);
    const Lease target = lease(Direction::kPut, 64, size);
    EXPECT_EQ(target.length_bytes, size);
    const auto done = result(put(target, size));
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_EQ(done->length_bytes, size);
    EXPECT_EQ(far("result " + offer_), fmt::format("ok {} 0", size));
    EXPECT_EQ(far(fmt::format("check 64 {} {}", size, seed)), "yes");
  }
}

TEST_P(Transport, APutBringsItsNote) {
  const std::string longest(kMaxNoteBytes, 'n');
  for (const std::string& note : {std::string("a few words"), longest, std::string()}) {
    TransferOptions options;
    options.note = std::as_bytes(std::span(note));
    const Lease target = lease(Direction::kPut, 64, 70'000);
    ASSERT_TRUE(result(put(target, 70'000, options)));
    EXPECT_EQ(far("note " + offer_), note);
    EXPECT_EQ(far("result " + offer_), "ok 70000 0");
    EXPECT_EQ(far("note " + offer_), "");
  }
  TransferOptions options;
  const std::string longer = longest + "n";
  options.note = std::as_bytes(std::span(longer));
  const Lease target = lease(Direction::kPut, 64, 100);
  EXPECT_EQ(put(target, 100, options).error().code(), StatusCode::kInvalidInput);
}

TEST_P(Transport, GetsBytesOfEverySize) {
  for (const std::uint64_t size : {0, 1, 100, 8193, 65'537, 3 << 20}) {
    far(fmt::format("fill 128 {} 5", size));
    const Lease source = lease(Direction::kGet, 128, size);
    const auto done = result(near().get(source, memory_, 8, size));
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_TRUE(holds(part(8, size), 5));
    EXPECT_EQ(far("result " + offer_), fmt::format("ok {} 0", size));
  }
}

TEST_P(Transport, TheFarEndPutsAndGetsToo) {
  const auto room = near().offer(memory_, 0, 100'000);
  OfferOptions get;
  get.direction = Direction::kGet;
  fill(part(200'000, 5000), 9);
  const auto source = near().offer(memory_, 200'000, 5000, get);
  ASSERT_TRUE(room && source);
  far("fill 0 100000 4");
  ASSERT_TRUE(until([&] { return far("credits put") == "1" && far("credits get") == "1"; }));
  const auto lease = far("take put");
  const auto sent = far(fmt::format("put {} 0 100000 0 10000 1", lease));
  EXPECT_EQ(far("result " + sent), "ok 100000 1");
  EXPECT_TRUE(result(room).value().verified);
  EXPECT_TRUE(holds(part(0, 100'000), 4));
  const auto fetched = far(fmt::format("get {} 300000 5000 0 10000 1", far("take get")));
  EXPECT_EQ(far("result " + fetched), "ok 5000 1");
  EXPECT_EQ(far("check 300000 5000 9"), "yes");
}

TEST_P(Transport, CreditsAreWhatWasOfferedAndNoMore) {
  EXPECT_EQ(near().take_lease(Direction::kPut).error().code(), StatusCode::kBusy);
  for (int i = 0; i < 3; ++i) far(fmt::format("offer put {} 10 20000", i * 10));
  ASSERT_TRUE(until([&] { return near().credits(Direction::kPut) == 3; }));
  EXPECT_EQ(near().credits(Direction::kGet), 0U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(near().take_lease(Direction::kPut));
  EXPECT_EQ(near().take_lease(Direction::kPut).error().code(), StatusCode::kBusy);
}

TEST_P(Transport, OffersAreBoundedByCapacity) {
  std::string answer;
  int offers = 0;
  for (; offers < 1000; ++offers) {
    answer = far(fmt::format("offer put {} 1 20000", offers));
    if (!std::isdigit(answer[0])) break;
  }
  EXPECT_EQ(offers, 64);
  EXPECT_THAT(answer, StartsWith("busy"));
}

TEST_P(LeaseAttack, ALeaseStaysInItsBounds) {
  far("fill 0 300 3");
  const Lease target = lease(Direction::kPut, 100, 100);
  TransferOptions at;
  for (const auto& [offset, length] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 101},
                                                            {1, 100},
                                                            {100, 1},
                                                            {101, 0},
                                                            {~std::uint64_t{0}, 2},
                                                            {~std::uint64_t{0} - 99, 100},
                                                            {0, 100'000}}) {
    at.offset_bytes = offset;
    EXPECT_EQ(code(put(target, length, at)), StatusCode::kDenied) << offset << '+' << length;
  }
  EXPECT_EQ(far("check 0 300 3"), "yes");
  at.offset_bytes = 90;
  EXPECT_TRUE(result(put(target, 10, at)));  // what was refused has not used it up
  EXPECT_EQ(far("refused"), "7");
}

TEST_P(LeaseAttack, ALeaseWorksOneWayOnly) {
  far("fill 0 100 3");
  const Lease target = lease(Direction::kPut, 0, 100);
  EXPECT_EQ(code(near().get(target, memory_, 0, 100)), StatusCode::kDenied);
  EXPECT_TRUE(all_zero(part(0, 100)));
  const Lease source = lease(Direction::kGet, 200, 100);
  fill(part(0, 100), 8);
  EXPECT_EQ(code(put(source, 100)), StatusCode::kDenied);
  EXPECT_EQ(far("zero 200 100"), "yes");
}

TEST_P(LeaseAttack, ALeaseWorksOnce) {
  const Lease target = lease(Direction::kPut, 0, 100);
  ASSERT_TRUE(result(put(target, 100)));
  fill(part(0, 100), 7);
  const auto again = result(put(target, 100));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), StatusCode::kDenied);
  EXPECT_THAT(again.error().message(), HasSubstr("used"));
  EXPECT_EQ(far("zero 0 100"), "yes");
  const Lease source = lease(Direction::kGet, 0, 100);
  ASSERT_TRUE(result(near().get(source, memory_, 0, 100)));
  EXPECT_EQ(code(near().get(source, memory_, 0, 100)), StatusCode::kDenied);
}

TEST_P(LeaseAttack, AnExpiredLeaseIsRefused) {
  std::optional<Lease> target;
  // It has to be here before it expires, however busy the machine is.
  for (int ttl_ms = 50; !target && ttl_ms < 20'000; ttl_ms *= 4) {
    offer_ = far(fmt::format("offer put 0 100 {}", ttl_ms));
    if (!until([&] { return near().credits(Direction::kPut) > 0; }, ttl_ms)) continue;
    if (const auto taken = near().take_lease(Direction::kPut)) target = *taken;
  }
  ASSERT_TRUE(target);
  EXPECT_THAT(far("result " + offer_), StartsWith("deadline"));
  fill(part(0, 100), 7);
  const auto late = result(put(*target, 100));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), StatusCode::kDenied);
  EXPECT_THAT(late.error().message(), HasSubstr("expired"));
  EXPECT_EQ(far("zero 0 100"), "yes");
}

TEST_P(Transport, AnExpiredLeaseIsNoCredit) {
  bool came = false;
  for (int ttl_ms = 60; !came && ttl_ms < 20'000; ttl_ms *= 4) {
    far(fmt::format("offer put 0 100 {}", ttl_ms));
    came = until([&] { return near().credits(Direction::kPut) == 1; }, ttl_ms);
  }
  ASSERT_TRUE(came);
  EXPECT_TRUE(until([&] { return near().credits(Direction::kPut) == 0; }));
}

TEST_P(LeaseAttack, ARevokedLeaseIsRefused) {
  far("fill 0 100 2");
  const Lease target = lease(Direction::kPut, 0, 100);
  const Lease source = lease(Direction::kGet, 100, 100);
  EXPECT_EQ(far("revoke 0"), "ok");
  EXPECT_EQ(far("revoke 1"), "ok");
  EXPECT_THAT(far("result 0"), StartsWith("denied"));
  const auto late = result(put(target, 100));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), StatusCode::kDenied);
  EXPECT_THAT(late.error().message(), HasSubstr("revoked"));
  EXPECT_EQ(code(near().get(source, memory_, 0, 100)), StatusCode::kDenied);
  EXPECT_EQ(far("check 0 100 2"), "yes");
}

TEST_P(Transport, RevokingTakesTheCreditBack) {
  far("offer put 0 100 20000");
  ASSERT_TRUE(until([&] { return near().credits(Direction::kPut) == 1; }));
  far("revoke 0");
  EXPECT_TRUE(until([&] { return near().credits(Direction::kPut) == 0; }));
}

TEST_P(LeaseAttack, ForgedLeasesAreRefused) {
  const Lease target = lease(Direction::kPut, 0, 100);
  fill(part(0, 100), 7);
  for (const std::uint64_t id :
       {target.id + 1, target.id - 1, target.id + 0x10000, target.id - 0x10000, std::uint64_t{0},
        ~std::uint64_t{0}, target.id | 0xffff}) {
    Lease forged = target;
    forged.id = id;
    EXPECT_EQ(code(put(forged, 100)), StatusCode::kDenied) << std::hex << id;
  }
  for (const std::uint32_t epoch : {target.epoch + 1, target.epoch - 1, 0U}) {
    Lease forged = target;
    forged.epoch = epoch;
    const auto old = result(put(forged, 100));
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().code(), StatusCode::kDenied);
  }
  EXPECT_EQ(far("zero 0 100"), "yes");
}

TEST_P(LeaseAttack, ALeaseDiesWithItsConnection) {
  const Lease target = lease(Direction::kPut, 0, 100);
  join();
  const Lease fresh = lease(Direction::kPut, 0, 100);
  EXPECT_NE(fresh.epoch, target.epoch);
  const auto late = result(put(target, 100));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), StatusCode::kDenied);
  EXPECT_THAT(late.error().message(), HasSubstr("another connection"));
  EXPECT_TRUE(result(put(fresh, 100)));
}

TEST_P(LeaseAttack, LyingAboutLengthIsRefused) {
  const Lease target = lease(Direction::kPut, 0, 100);
  fill(part(0, 4096), 7);
  for (const std::uint64_t claimed : {50, 101}) {
    faults_->rewrite = [&](Packet& packet) { packet.length_bytes = claimed; };
    EXPECT_EQ(code(put(target, 100)), StatusCode::kDenied);
  }
  faults_->rewrite = [](Packet& packet) { packet.length_bytes = 100; };
  EXPECT_EQ(code(put(target, 4096)), StatusCode::kDenied);
  EXPECT_EQ(far("zero 0 8192"), "yes");
}

TEST_P(LeaseAttack, EveryPacketTwiceChangesNothing) {
  faults_->copies = 2;
  for (int i = 0; i < 20; ++i) {
    fill(part(0, 3000), static_cast<unsigned>(i));
    const Lease target = lease(Direction::kPut, 0, 3000);
    ASSERT_TRUE(result(put(target, 3000)));
    EXPECT_EQ(far("result " + offer_), "ok 3000 0");
    EXPECT_EQ(far(fmt::format("check 0 3000 {}", i)), "yes");
  }
  EXPECT_EQ(far("refused"), "0");
}

TEST_P(LeaseAttack, PacketsInAnyOrderAllArrive) {
  std::vector<Lease> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(lease(Direction::kPut, i * 1000, 1000));
  faults_->hold = 8;
  std::vector<Result<Transfer>> transfers;
  for (int i = 0; i < 8; ++i) {
    fill(part(i * 1000, 1000), static_cast<unsigned>(i));
    transfers.push_back(near().put(leases[i], memory_, i * 1000, 1000));
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(result(transfers[i])) << i;
    EXPECT_EQ(far(fmt::format("check {} 1000 {}", i * 1000, i)), "yes");
  }
  EXPECT_EQ(far("refused"), "0");
}

TEST_P(Transport, ChecksumsAreComparedOnRequest) {
  TransferOptions checked;
  checked.checksum = true;
  fill(part(0, 20'000), 6);
  const auto good = result(put(lease(Direction::kPut, 0, 20'000), 20'000, checked));
  ASSERT_TRUE(good);
  EXPECT_TRUE(good->verified);
  EXPECT_EQ(far("result " + offer_), "ok 20000 1");
  faults_->rewrite = [](Packet& packet) { packet.checksum ^= 1; };
  const Lease target = lease(Direction::kPut, 0, 20'000);
  EXPECT_EQ(code(put(target, 20'000, checked)), StatusCode::kIoError);
  EXPECT_THAT(far("result " + offer_), StartsWith("io_error"));
}

TEST_P(Transport, ASilentPeerMeansADeadline) {
  const Lease target = lease(Direction::kPut, 0, 100);
  faults_->copies = 0;
  TransferOptions soon;
  soon.deadline_ms = 50;
  const auto start = steady_clock::now();
  EXPECT_EQ(code(put(target, 100, soon)), StatusCode::kDeadline);
  EXPECT_EQ(code(near().get(target, memory_, 0, 100, soon)), StatusCode::kDeadline);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_FALSE(near().lost().has_value());  // the memory is ours again: nothing hangs
  faults_->copies = 1;
  EXPECT_TRUE(result(put(target, 100)));
}

TEST_P(Transport, APeersDeathEndsEverything) {
  const Lease target = lease(Direction::kPut, 0, 3 << 20);
  const auto room = near().offer(memory_, 3 << 20, 100);
  const auto sent = put(target, 3 << 20);
  EXPECT_TRUE(memory_.in_use());
  ends_->kill_far();
  const auto start = steady_clock::now();
  EXPECT_EQ(code(room), StatusCode::kPeerLost);
  const auto ended = result(sent);
  if (!ended) {
    EXPECT_EQ(ended.error().code(), StatusCode::kPeerLost);
  }
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(50));
  ASSERT_TRUE(near().lost().has_value());
  EXPECT_EQ(near().offer(memory_, 0, 1).error().code(), StatusCode::kPeerLost);
  EXPECT_EQ(near().take_lease(Direction::kPut).error().code(), StatusCode::kPeerLost);
  EXPECT_TRUE(until([&] { return near().uncertain() == 0; }));
  EXPECT_FALSE(memory_.in_use());
}

// However busy the machine: a wait may be all that there is time for.
TEST_P(Transport, AFewWaitsFindThePeerGone) {
  ends_->kill_far();
  for (int i = 0; i < 3 && !near().lost(); ++i) {
    near().idle(0);
    near().progress();
  }
  EXPECT_TRUE(near().lost().has_value());
}

TEST_P(Transport, ASendersDeathInTheMiddleEndsTheOffer) {
  const auto room = near().offer(memory_, 0, 3 << 20);
  ASSERT_TRUE(room);
  ASSERT_TRUE(until([&] { return far("credits put") == "1"; }));
  far(fmt::format("put {} 0 {} 0 10000 0", far("take put"), 3 << 20));
  ends_->kill_far();
  const auto ended = result(room);  // all of it may have been here already
  if (!ended) {
    EXPECT_EQ(ended.error().code(), StatusCode::kPeerLost);
  }
  EXPECT_TRUE(until([&] { return near().lost() && near().uncertain() == 0; }));
}

TEST_P(Transport, ClosingIsHeardAtTheOtherEnd) {
  ASSERT_TRUE(near().offer(memory_, 0, 100));
  const auto pending = near().offer(memory_, 200, 100);
  far("close");
  EXPECT_EQ(code(pending), StatusCode::kPeerLost);
  EXPECT_TRUE(near().lost().has_value());
}

TEST_P(Transport, MemoryInUseIsNotUsedAgain) {
  const auto room = near().offer(memory_, 0, 100);
  ASSERT_TRUE(room);
  EXPECT_EQ(near().take_result(*room).error().code(), StatusCode::kInvalidInput);  // not done yet
  EXPECT_EQ(near().offer(memory_, 99, 10).error().code(), StatusCode::kBusy);
  const Lease target = lease(Direction::kPut, 0, 100);
  EXPECT_EQ(put(target, 10).error().code(), StatusCode::kBusy);
  ASSERT_TRUE(near().revoke(*room));
  EXPECT_TRUE(result(put(target, 10)));
}

TEST_P(Transport, ATransferOutlivesItsRegionsOwner) {
  Lease target = lease(Direction::kPut, 0, 2 << 20);
  Result<Transfer> sent = fail(StatusCode::kInternal, "");
  {
    const Region brief = allocate(2 << 20);
    fill({brief, 0, 2 << 20}, 11);
    sent = near().put(target, brief, 0, 2 << 20);
  }
  ASSERT_TRUE(result(sent));
  EXPECT_EQ(far(fmt::format("check 0 {} 11", 2 << 20)), "yes");
}

TEST_P(LeaseAttack, AFloodOfForgedRequestsWritesNothing) {
  Lease forged = lease(Direction::kPut, 0, 100);
  forged.id += 0x10000;
  fill(part(0, 100), 7);
  std::uint64_t number = 1000;
  faults_->copies = 3000;
  faults_->rewrite = [&](Packet& packet) { packet.request = ++number; };
  const auto sent = put(forged, 100);
  faults_->copies = 1;
  faults_->rewrite = nullptr;
  ASSERT_TRUE(sent);
  // Refused one by one, or the whole connection for piling up answers: either bounds the memory.
  EXPECT_TRUE(until([&] { return near().lost() || far("refused") == "3000"; }));
  EXPECT_EQ(far("zero 0 100"), "yes");
}

TEST_P(LeaseAttack, GarbageEndsTheConnection) {
  ASSERT_TRUE(far("offer put 0 10 20000") == "0");
  faults_->rewrite = [](Packet& packet) { packet.kind = static_cast<PacketKind>(77); };
  const auto room = near().offer(memory_, 0, 10);
  EXPECT_EQ(code(room), StatusCode::kPeerLost);
  EXPECT_THAT(far("result 0"), StartsWith("invalid_input"));
}

TEST_P(Transport, ManySmallTransfersKeepTheirSlots) {
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 32; ++i) far(fmt::format("offer put {} 100 20000", i * 100));
    ASSERT_TRUE(until([&] { return near().credits(Direction::kPut) == 32; }));
    std::vector<Result<Transfer>> sent;
    for (int i = 0; i < 32; ++i) {
      sent.push_back(put(near().take_lease(Direction::kPut).value(), 100));
    }
    for (const auto& transfer : sent) ASSERT_TRUE(result(transfer));
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(far(fmt::format("result {}", round * 32 + i)), "ok 100 0");
    }
  }
}

TEST_P(Transport, BadArgumentsAreRefusedAtOnce) {
  EXPECT_EQ(near().offer(memory_, kNearBytes, 1).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(near().offer(memory_, ~std::uint64_t{0}, 2).error().code(), StatusCode::kInvalidInput);
  const Lease target = lease(Direction::kPut, 0, 100);
  TransferOptions never;
  never.deadline_ms = 0;
  EXPECT_EQ(put(target, 1, never).error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(near().take_result({3, 999}).error().code(), StatusCode::kInvalidInput);
  std::array<std::byte, 8> bytes{};
  const Region nobodys = Region::view(bytes, MemoryKind::kCuda, 0);
  EXPECT_EQ(near().offer(nobodys, 0, 1).error().code(), StatusCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Links, Transport, ::testing::ValuesIn(connection_names()),
                         [](const auto& which) { return which.param; });
INSTANTIATE_TEST_SUITE_P(Links, LeaseAttack, ::testing::ValuesIn(connection_names()),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace framewire::transport::testing
