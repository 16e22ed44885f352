#include <fmt/format.h>
#include <algorithm>
#include <base/no_memory.hpp>
#include <base/null_stream.hpp>
#include <chrono>
#include <new>
#include <transport/channel.hpp>
#include <utility>

namespace framewire::transport::core {
namespace {

using base::Clock;
using std::chrono::milliseconds;

// How many progress() calls may pass between two looks at the clock: a look costs as much as a
// poll.
constexpr unsigned kRoundsPerLook = 64;
// How many rounds a call counts for that has found nothing to do.
constexpr unsigned kIdleRounds = 8;
// How many such calls records wait that are not urgent: a microsecond or two of polling, but not
// long for who polls seldom, as a peer may keep its other leases for something else.
constexpr unsigned kPatientRounds = 64;

std::size_t request_window(std::uint32_t capacity) {
  std::size_t window = 64;
  while (window < std::size_t{capacity} * 4) window *= 2;
  return window;
}

}  // namespace

Channel::Channel(std::unique_ptr<Link> link, ChannelConfig config)
    : link_(std::move(link)),
      config_(std::move(config)),
      table_(config_.capacity),
      granted_(config_.peer_capacity),
      requests_(request_window(config_.capacity)),
      seen_(request_window(config_.peer_capacity)) {
  link_->attach(this);
}

Channel::~Channel() {
  close();
  // The link's own destructor is the last resort; most operations end at once after close().
  const auto end = Clock::now() + milliseconds(200);
  while (table_.uncertain() > 0 && Clock::now() < end) link_->progress();
  link_.reset();  // while the table, which its callbacks use, is alive
}

Result<void> Channel::usable(const Region& region, const std::optional<CudaStream>& stream) const {
  if (lost_) return fail(*lost_);
  const bool device = region.kind() != MemoryKind::kHost;
  if (!link_->takes(region.kind()) || (device && region.devices() == nullptr)) {
    return fail(StatusCode::kUnsupported,
                fmt::format("device memory over {}; host memory is taken", link_->path().name));
  }
  if (stream && stream->is_null()) return base::null_stream();
  if (stream && !device) {
    return fail(StatusCode::kInvalidInput, "a stream for host memory; streams order device memory");
  }
  if (device && !region.unchanged()) {
    return fail(StatusCode::kInvalidInput,
                "the region's memory has been freed, and its address given to another allocation");
  }
  return {};
}

// What the link must know of a slot's region, if that is device memory.
Result<void> Channel::use_device(TransferSlot& slot,
                                 const std::optional<CudaStream>& stream) const {
  if (slot.block == nullptr || slot.block->kind == MemoryKind::kHost) return {};
  slot.device.devices = slot.block->devices;
  slot.device.device = slot.block->device;
  slot.device.stream = stream;
  slot.device.ours = slot.block->owned;
  if (!stream) return {};
  auto mark = slot.device.devices->mark(slot.device.device, *stream);
  if (!mark) return fail(mark.error());
  slot.device.after = std::move(*mark);
  return {};
}

// Gives a slot back that no packet has named yet.
tl::unexpected<Status> Channel::drop(std::uint32_t index, Status status) {
  table_.set_result(index);
  table_.release(index);
  return fail(std::move(status));
}

Payload Channel::payload_of(std::uint32_t index, std::uint64_t offset_bytes,
                            std::uint64_t length_bytes) {
  TransferSlot& slot = table_[index];
  if (length_bytes == 0) return {};
  Payload payload;
  payload.data = slot.memory() + offset_bytes;
  payload.bytes = length_bytes;
  payload.op = index;
  if (slot.device.devices != nullptr) payload.device = &slot.device;
  return payload;
}

Placement Channel::destination(std::uint32_t index, std::uint64_t offset_bytes) {
  TransferSlot& slot = table_[index];
  Placement placement{slot.memory() + offset_bytes, index};
  if (slot.device.devices != nullptr) placement.device = &slot.device;
  return placement;
}

Result<Transfer> Channel::offer(const Region& region, std::uint64_t offset_bytes,
                                std::uint64_t length_bytes, const OfferOptions& options) {
  if (plain(region, options.stream) && options.ttl_ms > 0 && options.work_ms > 0) {
    const auto index =
        table_.take(Role::kOffer, options.direction, {region, offset_bytes, length_bytes});
    if (index) return open(*index, options, false);
  }
  return offer_slowly({region, offset_bytes, length_bytes}, options);
}

// Offers what is not plain memory, and finds out what is wrong with an offer.
Result<Transfer> Channel::offer_slowly(const TransferMemory& memory, const OfferOptions& options) {
  const MemoryKind kind = memory.region.kind();
  if (auto fit = usable(memory.region, options.stream); !fit) return fail(std::move(fit.error()));
  if (options.ttl_ms == 0 || options.work_ms == 0) {
    return fail(StatusCode::kInvalidInput, "an offer with no time to live; 1 ms or more");
  }
  const auto index = table_.take(Role::kOffer, options.direction, memory);
  if (!index) return fail(table_.refusal(memory));
  if (auto used = use_device(table_[*index], options.stream); !used) {
    return drop(*index, used.error());
  }
  return open(*index, options, options.direction == Direction::kPut && link_->in_parts(kind));
}

Transfer Channel::open(std::uint32_t index, const OfferOptions& options, bool in_parts) {
  TransferSlot& slot = table_[index];
  slot.lease = lease_id(index, slot.generation);
  slot.work_ms = options.work_ms;
  slot.deadline = base::coarse_now() + milliseconds(options.ttl_ms);
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  Record grant;
  grant.kind = RecordKind::kGrant;
  grant.direction = options.direction;
  grant.number = options.ttl_ms;
  grant.id = slot.lease;
  grant.length_bytes = slot.length_bytes;
  grant.in_parts = in_parts;
  // The grant is urgent only if the peer has no other lease that it could use.
  post(grant, open_offers_[static_cast<std::size_t>(options.direction)]++ == 0);
  return {index, slot.generation};
}

Result<void> Channel::revoke(Transfer offer) {
  TransferSlot* slot = table_.find(offer);
  if (slot == nullptr || slot->role != Role::kOffer) {
    return fail(StatusCode::kInvalidInput, "revoking what is no offer of this channel");
  }
  if (slot->done()) return {};
  if (slot->moving()) {
    return fail(StatusCode::kBusy,
                fmt::format("lease {:x} is being used; it can end by itself, or with the channel",
                            slot->lease));
  }
  end_offer(offer.index, Reason::kRevoked, to_status(Reason::kRevoked, slot->lease));
  return {};
}

void Channel::end_offer(std::uint32_t index, Reason reason, Status error) {
  TransferSlot& slot = table_[index];
  slot.ended = reason;
  --open_offers_[static_cast<std::size_t>(slot.direction)];
  if (!lost_) {
    Record withdraw;
    withdraw.kind = RecordKind::kWithdraw;
    withdraw.direction = slot.direction;
    withdraw.reason = reason;
    withdraw.id = slot.lease;
    post(withdraw);
  }
  table_.set_result(index, std::move(error));
}

std::size_t Channel::credits(Direction direction) {
  auto& leases = leases_[static_cast<std::size_t>(direction)];
  if (leases.empty()) return 0;
  const auto now = base::coarse_now();
  auto& first = first_expiry_[static_cast<std::size_t>(direction)];
  if (now < first) return leases.size();
  leases.erase_if([&](const Lease& lease) { return lease.expiry <= now; });
  first = Clock::time_point::max();
  for (std::size_t i = 0; i < leases.size(); ++i) first = std::min(first, leases[i].expiry);
  return leases.size();
}

Result<Lease> Channel::take_lease(Direction direction) {
  auto& leases = leases_[static_cast<std::size_t>(direction)];
  const auto now = base::coarse_now();
  while (!leases.empty()) {
    const Lease& lease = leases.front();
    leases.pop_front();  // which leaves it where it is
    if (lease.expiry > now) return lease;
  }
  return no_lease();
}

Result<Lease> Channel::no_lease() const {
  if (lost_) return fail(*lost_);
  return fail(StatusCode::kBusy, "no credit: the peer has offered nothing that is not taken");
}

bool Channel::done(Transfer transfer) {
  const TransferSlot* slot = table_.find(transfer);
  return slot != nullptr && slot->done();
}

bool Channel::moving(Transfer offer) {
  const TransferSlot* slot = table_.find(offer);
  return slot != nullptr && slot->role == Role::kOffer && slot->moving();
}

Result<Completion> Channel::take_result(Transfer transfer) {
  TransferSlot* const slot = table_.find(transfer);
  if (slot == nullptr || !slot->done() || slot->error) return take_result_slowly(transfer);
  table_.release(transfer.index);
  return slot->completion;
}

Result<Completion> Channel::take_result_slowly(Transfer transfer) {
  TransferSlot* const slot = table_.find(transfer);
  if (slot == nullptr) {
    return fail(StatusCode::kInvalidInput, "no such transfer on this channel; results come once");
  }
  if (!slot->done()) {
    return fail(StatusCode::kInvalidInput, "the transfer has no result yet; done() says when");
  }
  Status error = std::move(*slot->error);
  table_.release(transfer.index);
  return fail(std::move(error));
}

std::span<const std::byte> Channel::note(Transfer offer) {
  const TransferSlot* slot = table_.find(offer);
  if (slot == nullptr || !slot->done()) return {};
  return std::span(slot->note).first(slot->note_bytes);
}

Result<Completion> Channel::wait(Transfer transfer) {
  while (true) {
    const TransferSlot* slot = table_.find(transfer);
    if (slot == nullptr || slot->done()) return take_result(transfer);
    if (!progress()) idle(1);
  }
}

bool Channel::progress() {
  // What has been posted since the last call, or while packets come in, waits for one that goes out
  // anyway: an answer mostly follows at once. It waits for one call only, or, if nobody may be
  // waiting for it, for some that find nothing to do.
  const bool waited = urgent_;
  in_progress_ = true;
  bool moved = link_->progress();
  if (!unserved_.empty()) moved = serve_waiting() || moved;
  in_progress_ = false;
  now_.reset();
  if (!records_.empty() && !lost_) {
    idle_rounds_ += moved ? 0 : 1;
    const bool due = urgent_ ? waited || !moved : idle_rounds_ >= kPatientRounds;
    if (due || records_.size() >= kMaxRecords) {
      flush_records();
      moved = true;
    }
  }
  rounds_ += moved ? 1 : kIdleRounds;
  if (rounds_ >= kRoundsPerLook) check_deadlines();
  return moved;
}

void Channel::idle(int timeout_ms) {
  if (!lost_) flush_records();
  link_->wait(unserved_.empty() ? timeout_ms : 0);  // a stream does not say when it is done
  check_deadlines();
}

void Channel::idle(int timeout_ms, int wake_fd) {
  if (!lost_) flush_records();
  link_->wait_or_wake(unserved_.empty() ? timeout_ms : 0, wake_fd);
  check_deadlines();
}

// A look at the clock costs as much as what a packet needs it for: those that come in together
// share one.
Clock::time_point Channel::now() noexcept {
  if (!in_progress_) return base::coarse_now();
  if (!now_) now_ = base::coarse_now();
  return *now_;
}

void Channel::check_deadlines() {
  rounds_ = 0;
  if (next_deadline_ == Clock::time_point::max()) return;
  const auto now = base::coarse_now();
  if (now < next_deadline_) return;
  next_deadline_ = Clock::time_point::max();
  bool stuck = false;
  for (std::uint32_t i = 0; i < table_.capacity(); ++i) {
    TransferSlot& slot = table_[i];
    if (!slot.under_way()) continue;
    if (slot.deadline > now) {
      next_deadline_ = std::min(next_deadline_, slot.deadline);
    } else if (slot.open_offer()) {
      end_offer(i, Reason::kExpired,
                Status(StatusCode::kDeadline, fmt::format("lease {:x} expired before {} used it",
                                                          slot.lease, config_.peer)));
    } else {
      stuck = stuck || slot.moving();
      auto& place = requests_[slot.request & (requests_.size() - 1)];
      if (slot.role != Role::kOffer && place == i + 1) place = 0;
      table_.set_result(i,
                        Status(StatusCode::kDeadline,
                               fmt::format("{} had not {} {} bytes in time", config_.peer,
                                           slot.writes() ? "sent" : "taken", slot.length_bytes)));
    }
  }
  // Only the end of the connection makes the link let go of memory that it still touches.
  if (stuck) {
    lose(
        base::status_of(StatusCode::kPeerLost, "closed because a transfer hung past its deadline"));
  }
}

// A channel whose holder has no memory left can still be closed.
void Channel::close() noexcept {
  if (lost_) return;
  try {
    say_farewell();
  } catch (const std::bad_alloc&) {
    // The peer sees the end of the link.
  }
  lose(base::status_of(StatusCode::kPeerLost, "this channel was closed"));
}

void Channel::say_farewell() {
  flush_records();
  if (lost_) return;
  Packet& packet = outgoing_;
  packet.kind = PacketKind::kClose;
  packet.note_bytes = 0;
  packet.epoch = config_.epoch;
  packet.has_checksum = packet.in_parts = false;
  if (link_->ready()) static_cast<void>(send(packet));
  link_->progress();
}

void Channel::on_lost(const Status& status) {
  if (!lost_) lose(base::copy_of(status));
}

void Channel::lose(Status status) noexcept {
  if (lost_) return;
  lost_ = std::move(status);
  records_.clear();
  for (auto& leases : leases_) leases.clear();
  for (std::uint32_t i = 0; i < table_.capacity(); ++i) {
    TransferSlot& slot = table_[i];
    if (!slot.under_way()) continue;
    if (slot.role == Role::kOffer) slot.ended = Reason::kCancelled;
    table_.set_result(i, base::copy_of(*lost_));
  }
  std::fill(requests_.begin(), requests_.end(), 0);
  for (const Unserved& waiting : unserved_) table_.settle(waiting.index);
  unserved_.clear();
  try {
    link_->close();
  } catch (const std::bad_alloc&) {
    // The link's destructor does what is left.
  }
}

}  // namespace framewire::transport::core
