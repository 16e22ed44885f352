#include <fmt/format.h>
#include <sched.h>
#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <commands/perf/flow.hpp>
#include <cstring>
#include <optional>
#include <transport/device.hpp>
#include <transport/device_copy.hpp>
#include <transport/ring.hpp>

namespace framewire::app {
namespace {

using base::Clock;
using transport::Channel;
using transport::Direction;
using transport::Transfer;

// Measured: with 8 MiB, which no core's own cache holds, messages of 256 KiB took ten times as
// long.
constexpr std::uint64_t kSlotsTogether = std::uint64_t{1} << 20;
// Looks without an event, 20 to 50 µs of them, before each one gives the core away: the other end
// may need it. Measured with both ends on one core: without, 4 KiB took 4 ms, the kernel's tick.
constexpr unsigned kLooksBeforeYield = 1000;
constexpr auto kDeadline_ms = static_cast<std::uint32_t>(kPerfPatience.count());
constexpr std::uint32_t kHour_ms = 3'600'000;

// Sends and receives the messages of one row, as far as credits allow.
class Flow {
 public:
  Flow(Channel& channel, PerfMemory& memory, const PerfRow& row, std::chrono::milliseconds patience)
      : channel_(channel),
        memory_(memory),
        row_(row),
        patience_(patience),
        slots_(memory.slots(row)) {
    transfer_.deadline_ms = kDeadline_ms;
    transfer_.checksum = row.verify;
  }

  // Offers slots until `total` messages have been or can be received.
  Result<void> offer(std::uint64_t total) {
    while (offered_ < total && offers_.size() < slots_) {
      const auto slot =
          memory_.slot(static_cast<std::uint32_t>(offered_ % slots_), row_.size_bytes);
      const auto offer = channel_.offer(memory_.region(), slot, row_.size_bytes);
      if (!offer) return fail(offer.error());
      offers_.push_back(*offer);
      ++offered_;
    }
    return {};
  }
  Result<bool> send_one() {
    if (credits_ == 0) credits_ = channel_.credits(Direction::kPut);
    if (credits_ == 0) return await_lease();
    lease_by_.reset();
    --credits_;
    const auto lease = channel_.take_lease(Direction::kPut);
    if (!lease) return fail(lease.error());
    const auto put = channel_.put(*lease, memory_.region(), 0, row_.size_bytes, transfer_);
    if (!put) return fail(put.error());
    puts_.push_back(*put);
    ++sent_;
    return true;
  }
  // Takes in what is done, in order; the slots of what was received become free. What has come is
  // answered before what was sent is cleared away.
  Result<void> collect() {
    const std::uint64_t before = received_;
    if (auto taken = collect(offers_, received_); !taken || received_ > before) return taken;
    return collect(puts_, confirmed_);
  }
  Result<void> step() {
    channel_.progress();
    const std::uint64_t before = received_ + confirmed_;
    if (auto taken = collect(); !taken) return taken;
    idle_looks_ = received_ + confirmed_ == before ? idle_looks_ + 1 : 0;
    if (idle_looks_ > kLooksBeforeYield) sched_yield();
    // A peer that has all it wanted may leave together with its last confirmation.
    if (channel_.lost() && received_ + confirmed_ == before) return fail(*channel_.lost());
    return {};
  }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t confirmed() const { return confirmed_; }

 private:
  // Each lease has its own time, from when it is first missed.
  Result<bool> await_lease() {
    const auto now = base::coarse_now();
    if (!lease_by_) lease_by_ = now + patience_;
    if (now >= *lease_by_) return fail(StatusCode::kDeadline, "the peer offers nothing any more");
    return false;
  }
  Result<void> collect(transport::Ring<Transfer>& transfers, std::uint64_t& count) {
    while (!transfers.empty() && channel_.done(transfers.front())) {
      const auto done = channel_.take_result(transfers.front());
      if (!done) return fail(done.error());
      transfers.pop_front();
      ++count;
    }
    return {};
  }

  Channel& channel_;
  PerfMemory& memory_;
  const PerfRow& row_;
  std::chrono::milliseconds patience_;
  std::uint32_t slots_;
  transport::TransferOptions transfer_;
  transport::Ring<Transfer> offers_;
  transport::Ring<Transfer> puts_;
  std::size_t credits_ = 0;  ///< at least as many as that
  std::uint64_t offered_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t idle_looks_ = 0;
  std::optional<Clock::time_point> lease_by_;  ///< while one is missing
};

// One round of a window each way, or one way only. Without pauses the next windows are begun as far
// as there are not more messages on their way than one has.
Result<void> run_windows(Flow& flow, const PerfRow& row, std::uint64_t round, bool sends,
                         bool receives) {
  const std::uint64_t target = (round + 1) * row.window;
  const std::uint64_t total = std::uint64_t{row.rounds + row.skipped} * row.window;
  while ((sends && flow.confirmed() < target) || (receives && flow.received() < target)) {
    if (receives) {
      if (auto offered = flow.offer(total); !offered) return offered;
    }
    const std::uint64_t limit =
        row.pauses ? target : std::min(total, flow.confirmed() + row.window);
    while (sends && flow.sent() < limit) {
      const auto sent = flow.send_one();
      if (!sent) return fail(sent.error());
      if (!*sent) break;
    }
    if (auto stepped = flow.step(); !stepped) return stepped;
  }
  return {};
}

// One message there and one back. A slot is offered again after the answer has gone out, so that
// nobody waits for that: the other slot's lease has been with the peer for long.
Result<void> run_round_trip(Flow& flow, const PerfRow& row, std::uint64_t round, bool client) {
  const std::uint64_t total = std::uint64_t{row.rounds} + row.skipped;
  const auto send = [&]() -> Result<void> {
    while (true) {
      const auto sent = flow.send_one();
      if (!sent) return fail(sent.error());
      if (*sent) return flow.offer(total);
      if (auto stepped = flow.step(); !stepped) return stepped;
    }
  };
  if (round == 0) {
    if (auto offered = flow.offer(total); !offered) return offered;
  }
  if (client) {
    if (auto sent = send(); !sent) return sent;
  }
  while (flow.received() <= round) {
    if (auto stepped = flow.step(); !stepped) return stepped;
  }
  return client ? Result<void>() : send();
}

Result<void> settle(Flow& flow) {
  while (flow.confirmed() < flow.sent()) {
    if (auto stepped = flow.step(); !stepped) return stepped;
  }
  return {};
}

}  // namespace

std::array<std::byte, kPerfRowBytes> encode(const PerfRow& row) {
  std::array<std::byte, kPerfRowBytes> bytes{};
  bytes[0] = static_cast<std::byte>(row.test);
  bytes[1] = static_cast<std::byte>(row.verify ? 1 : 0);
  bytes[2] = static_cast<std::byte>(row.pauses ? 1 : 0);
  std::memcpy(&bytes[4], &row.window, 4);
  std::memcpy(&bytes[8], &row.size_bytes, 8);
  std::memcpy(&bytes[16], &row.rounds, 4);
  std::memcpy(&bytes[20], &row.skipped, 4);
  return bytes;
}

Result<PerfRow> decode_perf_row(std::span<const std::byte> bytes) {
  if (bytes.size() < kPerfRowBytes) {
    return fail(StatusCode::kInvalidInput, "an announcement that is too short");
  }
  PerfRow row;
  const auto test = std::to_integer<std::uint8_t>(bytes[0]);
  row.test = static_cast<PerfTest>(test);
  row.verify = bytes[1] == std::byte{1};
  row.pauses = bytes[2] == std::byte{1};
  std::memcpy(&row.window, &bytes[4], 4);
  std::memcpy(&row.size_bytes, &bytes[8], 8);
  std::memcpy(&row.rounds, &bytes[16], 4);
  std::memcpy(&row.skipped, &bytes[20], 4);
  const bool good = test <= 2 && row.window >= 1 && row.window <= 256 && row.size_bytes >= 1 &&
                    row.size_bytes <= kMaxMessageBytes && row.rounds <= 1'000'000 &&
                    row.skipped <= 1'000'000;
  if (!good) return fail(StatusCode::kInvalidInput, "an announcement out of range");
  return row;
}

PerfRow osu_row(PerfTest test, std::uint64_t size_bytes, std::uint32_t window) {
  const bool large = size_bytes > 8192;
  PerfRow row;
  row.test = test;
  row.size_bytes = size_bytes;
  row.window = test == PerfTest::kLatency ? 1 : window;
  if (test == PerfTest::kLatency) {
    row.rounds = large ? 1000 : 10'000;
    row.skipped = large ? 10 : 100;
  } else {
    row.rounds = large ? 20 : 100;
    row.skipped = large ? 2 : 10;
  }
  return row;
}

Result<PerfMemory> PerfMemory::make(std::uint64_t largest_bytes, const MemoryPlace& place) {
  PerfMemory memory;
  memory.largest_bytes_ = std::max<std::uint64_t>(largest_bytes, 4096);
  const std::uint64_t slots = std::max(2 * memory.largest_bytes_, kSlotsTogether);
  auto region = place.allocate(memory.largest_bytes_ + slots);
  if (!region) return fail(region.error());
  memory.region_ = std::move(*region);
  auto head = transport::Region::allocate_host(kPerfRowBytes);
  if (!head) return fail(head.error());
  memory.head_ = std::move(*head);
  const std::vector<std::byte> letters(std::size_t{1} << 20, std::byte{'a'});
  for (std::uint64_t at = 0; at < memory.largest_bytes_; at += letters.size()) {
    const auto count = std::min<std::uint64_t>(letters.size(), memory.largest_bytes_ - at);
    const auto piece = std::span(letters).first(static_cast<std::size_t>(count));
    if (auto filled = transport::copy_in(memory.region_, at, piece); !filled) {
      return fail(filled.error());
    }
  }
  return memory;
}

std::uint32_t PerfMemory::slots(const PerfRow& row) const {
  // A cache line or more each.
  const std::uint64_t pitch = std::max<std::uint64_t>(row.size_bytes, 64);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(kSlotsTogether / pitch, 2, std::max(row.window, 2U)));
}

std::uint64_t PerfMemory::slot(std::uint32_t index, std::uint64_t size_bytes) const {
  return largest_bytes_ + index * std::max<std::uint64_t>(size_bytes, 64);
}

Result<std::vector<double>> run_row(Channel& channel, PerfMemory& memory, const PerfRow& row,
                                    bool client, std::chrono::milliseconds patience) {
  Flow flow(channel, memory, row, patience);
  std::vector<double> times_us;
  times_us.reserve(row.rounds);
  const bool both = row.test == PerfTest::kBothWays;
  auto start = Clock::now();
  for (std::uint64_t round = 0; round < std::uint64_t{row.rounds} + row.skipped; ++round) {
    auto done = row.test == PerfTest::kLatency
                    ? run_round_trip(flow, row, round, client)
                    : run_windows(flow, row, round, client || both, !client || both);
    if (!done) return fail(done.error());
    const auto end = Clock::now();
    if (round >= row.skipped) {
      times_us.push_back(std::chrono::duration<double, std::micro>(end - start).count());
    }
    start = end;
  }
  if (auto settled = settle(flow); !settled) return fail(settled.error());
  return times_us;
}

Result<void> announce(Channel& channel, PerfMemory& memory, const PerfRow& row) {
  const auto bytes = encode(row);
  std::copy(bytes.begin(), bytes.end(), memory.head().data());
  const base::Deadline deadline(kDeadline_ms);
  while (channel.credits(Direction::kPut) == 0) {
    if (!channel.progress()) channel.idle(1);
    if (channel.lost()) return fail(*channel.lost());
    if (deadline.passed()) return fail(StatusCode::kDeadline, "the server offers nothing");
  }
  const auto lease = channel.take_lease(Direction::kPut);
  if (!lease) return fail(lease.error());
  const auto put = channel.put(*lease, memory.head(), 0, bytes.size());
  if (!put) return fail(put.error());
  const auto done = channel.wait(*put);
  if (!done) return fail(done.error());
  return {};
}

Result<PerfRow> await_row(Channel& channel, PerfMemory& memory) {
  transport::OfferOptions options;
  options.ttl_ms = kHour_ms;
  const auto offer = channel.offer(memory.head(), 0, kPerfRowBytes, options);
  if (!offer) return fail(offer.error());
  const auto done = channel.wait(*offer);
  if (!done) return fail(done.error());
  return decode_perf_row(memory.head().bytes());
}

}  // namespace framewire::app
