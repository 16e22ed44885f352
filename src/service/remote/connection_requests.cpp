// From what a client offers to what the engine is given.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <base/no_memory.hpp>
#include <base/queue_deadline.hpp>
#include <chrono>
#include <ipc/shared_pages.hpp>
#include <new>
#include <service/http/frame_size.hpp>
#include <service/remote/connection.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::service::remote {
namespace {

using base::Clock;
using transport::Direction;

/// Bytes of one client's requests that are on their way here at a time, save where a single one has
/// more: enough for the fastest network, and little for a slow client to keep.
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;
/// Requests of one client that are fetched while the engine has no room for them: so many hide a
/// network of some tens of milliseconds.
constexpr std::size_t kMinAhead = 64;
/// Messages without a body that are fetched at a time.
constexpr std::size_t kMaxSmall = 32;

tl::unexpected<Status> lied(std::string what) {
  return fail(StatusCode::kInvalidInput, std::move(what));
}

}  // namespace

/// An honest client offers a request for each slot and cancels each once. Of another's offers the
/// channel keeps no more than it has agreed to.
void RemoteClientConnection::take_leases() {
  const std::size_t most = 2 * slots_.size() + kMaxSmall;
  while (leases_.size() < most) {
    auto lease = channel_.take_lease(Direction::kGet);
    if (!lease) return;
    leases_.push_back(*lease);
  }
}

/// Fetches requests in the order in which they were offered, and lets what has no body overtake
/// them: the cancellation of a request is of no use behind others.
Result<bool> RemoteClientConnection::fetch() {
  take_leases();
  bool moved = false;
  bool blocked = false;
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    const bool small = lease->length_bytes <= ipc::kMessageHeadBytes;
    if (blocked && !small) {
      ++lease;
      continue;
    }
    const auto begun = fetch_one(*lease);
    if (!begun) return fail(begun.error());
    if (*begun) {
      moved = true;
      lease = leases_.erase(lease);
    } else {
      blocked = true;
      ++lease;
    }
  }
  return moved;
}

/// @return whether the lease is done with
Result<bool> RemoteClientConnection::fetch_one(const transport::Lease& lease) {
  const std::uint64_t bytes = lease.length_bytes;
  if (bytes < ipc::kMessageHeadBytes || bytes > max_message_bytes_) {
    return lied(fmt::format("a message of {} bytes was offered; accepted: {} to {}", bytes,
                            ipc::kMessageHeadBytes, max_message_bytes_));
  }
  Fetch fetch;
  if (bytes == ipc::kMessageHeadBytes) {
    if (fetches_.size() - fetching_requests_ >= kMaxSmall) return false;
    return begin_fetch(lease, std::move(fetch));
  }
  if (!has_room(bytes)) return false;
  const auto verdict = common_.admission.admit_or_wait(client_, bytes, 0, fetch.ticket);
  auto memory = verdict == http::ClientAdmission::Verdict::kAdmitted
                    ? common_.engine.input_slice(static_cast<std::size_t>(bytes))
                    : Result<InputSlice>(fail(StatusCode::kBusy, "not admitted"));
  if (!memory) {
    wants_room_ = true;
    return false;
  }
  fetch.memory = std::move(*memory);
  fetch.is_request = true;
  return begin_fetch(lease, std::move(fetch));
}

Result<bool> RemoteClientConnection::begin_fetch(const transport::Lease& lease, Fetch fetch) {
  const auto bytes = static_cast<std::size_t>(lease.length_bytes);
  if (!fetch.is_request) {
    const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
    fetch.memory = {{memory.get(), bytes}, memory};
  }
  transport::TransferOptions options;
  options.deadline_ms = time_for(fetching_bytes_ + bytes);
  const auto region = transport::Region::view(std::as_writable_bytes(fetch.memory.bytes));
  // In the list first: from then on nothing throws, and the memory stays.
  Fetch& kept = fetches_.emplace_back(std::move(fetch));
  const auto begun = channel_.get(lease, region, 0, bytes, options);
  if (!begun) {
    const StatusCode code = begun.error().code();
    fetches_.pop_back();
    wants_room_ = true;
    if (code == StatusCode::kBusy) return false;
    return fail(begun.error());
  }
  kept.transfer = *begun;
  fetching_bytes_ += bytes;
  if (kept.is_request) ++fetching_requests_;
  return true;
}

/// While the client has as many answers to take as it may, nothing more of its is begun. Before
/// that, no more than what answers as large as the last ones would fill.
bool RemoteClientConnection::has_room(std::uint64_t bytes) {
  const std::size_t in_work = fetching_requests_ + busy_;
  if (in_work + offered_answers_ >= slots_.size()) return false;
  if (!fetches_.empty() && fetching_bytes_ + bytes > kWindowBytes) return false;
  const bool fits =
      offered_bytes_ + (in_work + 1) * expected_bytes_ <= common_.options.output_bytes;
  if (!fits && in_work + offered_answers_ != 0) return false;
  const std::size_t ahead = std::max(kMinAhead, common_.options.under_way);
  return fetching_requests_ + waiting_.size() < ahead;
}

Result<bool> RemoteClientConnection::take_fetched() {
  bool moved = false;
  for (auto place = fetches_.begin(); place != fetches_.end();) {
    const auto fetch = place++;
    if (!channel_.done(fetch->transfer)) continue;
    moved = true;
    const auto read = channel_.take_result(fetch->transfer);
    // Who offers may think better of it. Any other error ends the connection, and its memory with
    // it: the link may still write there.
    if (!read && read.error().code() != StatusCode::kDenied) return fail(read.error());
    Fetch taken = std::move(*fetch);
    fetches_.erase(fetch);
    fetching_bytes_ -= taken.memory.bytes.size();
    if (taken.is_request) --fetching_requests_;
    if (!read) continue;
    if (auto good = take_message(std::move(taken)); !good) return fail(good.error());
  }
  return moved;
}

Result<void> RemoteClientConnection::take_message(Fetch fetch) {
  // An engine's memory may be a worker's, too, which could change it while it is read.
  std::array<std::byte, ipc::kMessageHeadBytes + ipc::kMaxOptionsBytes> front;
  const std::span<const std::byte> bytes = std::as_bytes(fetch.memory.bytes);
  const std::size_t copied = std::min(front.size(), bytes.size());
  ipc::copy_once(front.data(), bytes.data(), copied);
  const auto message = ipc::read_message(std::span(front).first(copied), bytes);
  if (!message) return fail(message.error());
  if (message->head.type == ipc::MessageType::kRequest) {
    return take_request(*message, std::move(fetch));
  }
  if (message->head.type == ipc::MessageType::kCancel) return cancel(message->head);
  return lied(fmt::format("a message of type {} comes from no client that has greeted",
                          static_cast<unsigned>(message->head.type)));
}

/// @return an error where the client lied
Result<void> RemoteClientConnection::take_request(const ipc::Message& message, Fetch fetch) {
  const std::uint32_t index = message.head.slot;
  if (index >= slots_.size()) {
    return lied(fmt::format("found slot {}; accepted: 0 to {}", index, slots_.size() - 1));
  }
  Slot& slot = slots_[index];
  if (slot.busy) {
    return lied(fmt::format("slot {} was used again before it was answered", index));
  }
  slot.busy = true;
  ++busy_;
  slot.number = message.head.number;
  slot.stop = std::stop_source();
  slot.arrival = Clock::now();
  slot.ticket = std::move(fetch.ticket);
  slot.message = std::move(fetch.memory);
  // Not before the client has been told why: it may then send the request to the next server.
  if (told_draining_) {
    answer(index, fail(StatusCode::kBusy, "the server is draining and takes no new requests"));
    return {};
  }
  try {
    auto request = make_request(message);
    if (request) {
      ClientCounters::add(common_.counters.input_bytes, request->jpeg.size());
      slot.request = std::move(*request);
      waiting_.push_back(index);
    } else {
      answer(index, fail(request.error()));
    }
  } catch (const std::bad_alloc&) {
    answer(index, fail(base::no_memory()));
  }
  return {};
}

Result<EngineRequest> RemoteClientConnection::make_request(const ipc::Message& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.text.data()),
                              message.text.size());
  const auto options = options_.find(text);
  if (!options) return fail(options.error());
  EngineRequest request;
  request.jpeg = message.body;
  request.options = **options;
  request.tag = message.head.slot;
  request.client = client_.key;
  request.completions = completions_;
  request.stop = slots_[message.head.slot].stop.get_token();
  return request;
}

/// A request that has been answered meanwhile cannot be cancelled any more; that is no lie.
Result<void> RemoteClientConnection::cancel(const ipc::MessageHead& head) {
  if (head.slot >= slots_.size()) {
    return lied(fmt::format("found slot {}; accepted: 0 to {}", head.slot, slots_.size() - 1));
  }
  Slot& slot = slots_[head.slot];
  if (slot.busy && slot.number == head.number) slot.stop.request_stop();
  return {};
}

/// A picture's pixels are known once it is here.
bool RemoteClientConnection::is_admitted(Slot& slot) {
  const std::uint64_t pixels =
      http::count_pixels_to_decode(slot.request.jpeg, slot.request.options.limits.max_input_pixels);
  const std::uint64_t bytes = slot.message.bytes.size();
  const auto verdict = slot.ticket.held()
                           ? common_.admission.change_or_wait(slot.ticket, bytes, pixels)
                           : common_.admission.admit_or_wait(client_, bytes, pixels, slot.ticket);
  return verdict == http::ClientAdmission::Verdict::kAdmitted;
}

std::optional<Status> RemoteClientConnection::why_dropped(const Slot& slot) const {
  if (slot.stop.stop_requested()) {
    return Status(StatusCode::kCancelled, "cancelled while it was queued");
  }
  const std::uint32_t allowed_ms = slot.request.options.limits.deadline_ms;
  if (allowed_ms == 0 || Clock::now() - slot.arrival < std::chrono::milliseconds(allowed_ms)) {
    return std::nullopt;
  }
  return base::late_in_queue(fmt::format("{} ms passed before the engine had room", allowed_ms));
}

/// How many more requests the engine may be given now.
std::size_t RemoteClientConnection::may_hand_in() {
  if (waiting_.empty()) share_.set_waiting(false);
  const std::size_t most = std::min(kGroupSize, waiting_.size());
  std::size_t allowed = std::min(most, share_.allowance());
  if (allowed == 0 && most != 0) {
    share_.set_waiting(true);
    wants_room_ = true;
    allowed = std::min(most, share_.allowance());
  }
  return allowed;
}

Result<bool> RemoteClientConnection::hand_in() {
  const bool dropped = drop_unwanted();
  const std::size_t allowed = may_hand_in();
  std::vector<std::uint32_t> group;
  group.reserve(allowed);
  while (group.size() < allowed) {
    if (!is_admitted(slots_[waiting_.front()])) {
      wants_room_ = true;
      break;
    }
    group.push_back(waiting_.front());
    waiting_.pop_front();
  }
  if (!group.empty()) submit(group);
  return dropped || !group.empty();
}

/// Answers requests that were cancelled, or whose time has passed, while they waited here.
bool RemoteClientConnection::drop_unwanted() {
  bool dropped = false;
  for (std::size_t i = 0; i < waiting_.size();) {
    const std::uint32_t index = waiting_[i];
    auto why = why_dropped(slots_[index]);
    if (!why) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    answer(index, fail(std::move(*why)));
    dropped = true;
  }
  return dropped;
}

/// What the engine has no room for waits on, in its place.
void RemoteClientConnection::submit(const std::vector<std::uint32_t>& slots) {
  std::vector<EngineRequest> requests;
  requests.reserve(slots.size());
  const auto now = Clock::now();
  for (const std::uint32_t index : slots) {
    requests.push_back(std::move(slots_[index].request));
    requests.back().waited_ms = base::add_waited(0, now - slots_[index].arrival);
  }
  std::size_t taken = 0;
  share_.entered(slots.size());
  try {
    taken = common_.engine.try_submit(requests);
  } catch (const std::bad_alloc&) {
    for (const std::uint32_t index : slots) {
      share_.left();
      answer(index, fail(base::no_memory()));
    }
    return;
  }
  share_.refused(slots.size() - taken);
  in_engine_ += taken;
  if (taken < slots.size()) wants_room_ = true;
  for (std::size_t i = slots.size(); i-- > taken;) {
    slots_[slots[i]].request = std::move(requests[i]);
    waiting_.push_front(slots[i]);
  }
}

}  // namespace framewire::service::remote
