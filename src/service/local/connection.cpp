// The client's thread: what it takes from the ring, and what it hands to the engine.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <base/no_memory.hpp>
#include <base/queue_deadline.hpp>
#include <chrono>
#include <ipc/greeting.hpp>
#include <ipc/wakeup.hpp>
#include <iterator>
#include <new>
#include <service/local/connection.hpp>
#include <string>
#include <utility>

namespace framewire::service::local {
namespace {

/// Entries taken, and requests handed in, at a time: more gain nothing, and stop() is to be heard.
constexpr std::size_t kGroup = 256;
/// How late the deadline of a request may be noticed that waits for its turn here.
constexpr int kDeadlineCheck_ms = 20;

/// Tells users from other clients of one engine.
constexpr std::uint64_t kLocalUsers = std::uint64_t{1} << 62;

tl::unexpected<Status> lied(std::string what) {
  return fail(StatusCode::kInvalidInput, std::move(what));
}

}  // namespace

LocalClientConnection::LocalClientConnection(const ConnectionContext& context, FairShare::User user,
                                             ipc::SharedPages pages, RegisteredMemory memory,
                                             transport::shared::LocalPeer peer,
                                             std::shared_ptr<base::WakeEvent> event)
    : engine_(context.engine),
      counters_(context.counters),
      event_(std::move(event)),
      share_(context.share, user, *event_),
      peer_(std::move(peer)),
      pages_(std::move(pages)),
      registered_(std::move(memory)),
      submissions_(pages_.submissions()),
      options_(context.limits),
      may_take_memory_back_(context.takes_memory_back),
      believes_requests_(context.believes_requests),
      client_(kLocalUsers | user),
      slots_(pages_.layout().sizes.slots),
      completions_(pages_.completions()),
      outputs_(pages_.layout().sizes.output_bytes) {
  requests_.reserve(slots_.size());
  arrivals_.reserve(slots_.size());
  kept_.reserve(slots_.size());
  answers_ =
      std::make_shared<CompletionQueue>([this, inbox = inbox_] { take_answers(*this, *inbox); });
  inbox_->answers = answers_.get();
  inbox_->event = event_;
}

/// A client that has left may have kept the memory's file, or a mapping: the pages would stay while
/// nobody counts them. Where this end leaves an honest client in peace the pages stay, since views
/// may lie in them.
LocalClientConnection::~LocalClientConnection() {
  if (!takes_memory_back_) return;
  registered_ = {};
  pages_.discard();
}

Status LocalClientConnection::run() noexcept {
  Status why = [this]() -> Status {
    try {
      auto served = serve();
      return served ? Status(StatusCode::kCancelled, "the server ends") : served.error();
    } catch (const std::bad_alloc&) {
      return base::no_memory();
    } catch (...) {
      return {StatusCode::kInternal, "an exception that nobody expected"};
    }
  }();
  // Whatever the reason, what is cancelled now is for another connection.
  pages_.control().draining.store(1, std::memory_order_relaxed);
  cancel_and_wait();
  takes_memory_back_ = may_take_memory_back_ && (why.code() == StatusCode::kPeerLost ||
                                                 why.code() == StatusCode::kInvalidInput);
  if (why.code() != StatusCode::kPeerLost) {
    const ipc::Word word = ipc::make_word(why);
    (void)::send(peer_.fd(), &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  return why;
}

void LocalClientConnection::drain() noexcept {
  // The client first: it then knows why requests are refused, and may keep them for the next
  // server.
  pages_.control().draining.store(1, std::memory_order_relaxed);
  draining_ = true;
  event_->notify();
}

void LocalClientConnection::stop() noexcept {
  stopping_ = true;
  event_->notify();
}

bool LocalClientConnection::idle() const {
  const std::lock_guard lock(mutex_);
  return busy_ == 0;
}

Result<void> LocalClientConnection::serve() {
  while (!stopping_) {
    const auto taken = take_entries();
    if (!taken) return fail(taken.error());
    if (inbox_->untaken.exchange(false)) take_answers(*this, *inbox_);
    place_kept();
    hand_in();
    if (!*taken && !sleep()) return fail(StatusCode::kPeerLost, "the client has left");
  }
  return {};
}

Result<bool> LocalClientConnection::take_entries() {
  const auto count = submissions_.available();
  if (!count) return lied("the index of what the client has submitted is out of bounds");
  const std::size_t taken = std::min<std::size_t>(*count, kGroup);
  for (std::size_t i = 0; i < taken; ++i) {
    if (auto good = take(submissions_.take()); !good) return fail(good.error());
  }
  if (taken != 0) submissions_.give_back();
  return taken != 0;
}

Result<void> LocalClientConnection::take(const ipc::Submission& entry) {
  switch (static_cast<ipc::RequestCommand>(entry.command)) {
    case ipc::RequestCommand::kRequest:
      return take_request(entry);
    case ipc::RequestCommand::kRelease:
      return release(entry.offset);
    case ipc::RequestCommand::kCancel:
      return cancel(entry.slot);
  }
  return lied(
      fmt::format("found command {} in the client's ring; accepted: 1 to 3", entry.command));
}

Result<void> LocalClientConnection::take_request(const ipc::Submission& entry) {
  const std::uint64_t area = pages_.layout().sizes.input_bytes;
  if (entry.offset > area || entry.bytes > area - entry.offset) {
    return lied(fmt::format("an input of {} bytes at {} lies outside of the {} bytes for inputs",
                            entry.bytes, entry.offset, area));
  }
  if (entry.options_bytes > ipc::kMaxOptionsBytes) {
    return lied(fmt::format("found {} bytes of options; accepted: up to {}", entry.options_bytes,
                            ipc::kMaxOptionsBytes));
  }
  if (auto entered = enter(entry.slot); !entered) return fail(entered.error());
  ClientCounters::add(counters_.input_bytes, entry.bytes);
  if (draining_) {
    refuse(entry.slot, {StatusCode::kBusy, "the server is draining and takes no new requests"});
    return {};
  }
  try {
    auto request = make_request(entry);
    if (request) {
      queue(std::move(*request));
    } else {
      refuse(entry.slot, request.error());
    }
  } catch (const std::bad_alloc&) {
    refuse(entry.slot, base::no_memory());
  }
  return {};
}

/// Takes a slot for a request; so that there is always room for its answer.
Result<void> LocalClientConnection::enter(std::uint32_t slot) {
  if (slot >= slots_.size()) {
    return lied(fmt::format("found slot {}; accepted: 0 to {}", slot, slots_.size() - 1));
  }
  const std::lock_guard lock(mutex_);
  if (slots_[slot].busy) {
    return lied(fmt::format("slot {} was used again before it was answered", slot));
  }
  const auto unread = completions_.unread();
  if (!unread) return lied("the index of what the client has received is out of bounds");
  if (busy_ + *unread >= slots_.size()) {
    return lied(fmt::format("more than {} requests were submitted before answers were taken",
                            slots_.size()));
  }
  slots_[slot].busy = true;
  ++busy_;
  return {};
}

Result<EngineRequest> LocalClientConnection::make_request(const ipc::Submission& entry) {
  std::array<char, ipc::kMaxOptionsBytes> text;
  ipc::copy_once(text.data(), pages_.options(entry.slot).data(), entry.options_bytes);
  const auto options = options_.find({text.data(), entry.options_bytes});
  if (!options) return fail(options.error());
  EngineRequest request;
  request.jpeg = pages_.input().subspan(entry.offset, entry.bytes);
  request.options = **options;
  request.tag = entry.slot;
  request.completions = answers_;
  // Small enough that std::function keeps it in itself.
  request.sink =
      OutputSink([this, slot = entry.slot](std::size_t bytes) { return allocate(slot, bytes); });
  request.client = believes_requests_ ? entry.client : client_;
  if (believes_requests_) request.waited_ms = entry.waited_ms;
  Slot& slot = slots_[entry.slot];
  if (slot.stop.stop_requested()) slot.stop = std::stop_source();
  request.stop = slot.stop.get_token();
  return request;
}

void LocalClientConnection::queue(EngineRequest request) {
  if (requests_.size() == requests_.capacity()) {
    const auto first = static_cast<std::ptrdiff_t>(first_);
    requests_.erase(requests_.begin(), requests_.begin() + first);
    arrivals_.erase(arrivals_.begin(), arrivals_.begin() + first);
    first_ = 0;
  }
  requests_.push_back(std::move(request));
  arrivals_.push_back(base::Clock::now());
}

Result<void> LocalClientConnection::release(std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  if (outputs_.release(offset)) return {};
  return lied(fmt::format("no output at {} was the client's to release", offset));
}

/// A request that has been answered meanwhile cannot be cancelled any more; that is no lie.
Result<void> LocalClientConnection::cancel(std::uint32_t slot) {
  if (slot >= slots_.size()) {
    return lied(fmt::format("found slot {}; accepted: 0 to {}", slot, slots_.size() - 1));
  }
  const auto waiting =
      std::find_if(requests_.begin() + static_cast<std::ptrdiff_t>(first_), requests_.end(),
                   [slot](const auto& request) { return request.tag == slot; });
  if (waiting != requests_.end()) {
    drop(static_cast<std::size_t>(waiting - requests_.begin()),
         {StatusCode::kCancelled, "cancelled while it was queued"});
    return {};
  }
  const bool busy = [&] {
    const std::lock_guard lock(mutex_);
    return slots_[slot].busy;
  }();
  // Not under the lock: the engine may answer from within.
  if (busy) slots_[slot].stop.request_stop();
  return {};
}

void LocalClientConnection::drop(std::size_t index, const Status& why) {
  const auto slot = static_cast<std::uint32_t>(requests_[index].tag);
  const auto at = static_cast<std::ptrdiff_t>(index);
  requests_.erase(requests_.begin() + at);
  arrivals_.erase(arrivals_.begin() + at);
  refuse(slot, why);
}

void LocalClientConnection::drop_expired() {
  const auto now = base::Clock::now();
  for (std::size_t i = first_; i < requests_.size();) {
    const std::uint32_t allowed_ms = requests_[i].options.limits.deadline_ms;
    const auto waited = now - arrivals_[i] + std::chrono::milliseconds(requests_[i].waited_ms);
    if (allowed_ms != 0 && waited >= std::chrono::milliseconds(allowed_ms)) {
      drop(i,
           base::late_in_queue(fmt::format("{} ms passed before the engine had room", allowed_ms)));
    } else {
      ++i;
    }
  }
}

/// Called with the lock held. How many more requests there is room for, in the engine and for their
/// streams.
///
/// While an answer waits for room in the output area the client gets nothing more done: it has
/// enough to read. Before that, no more is begun than what streams as large as the last ones would
/// fill, here and in the memory that we keep them in; so that answers are rarely `busy`. Nor are
/// there more inputs in work than the client's own memory holds, since each may be copied.
std::size_t LocalClientConnection::may_hand_in() const {
  if (!kept_.empty()) return 0;
  const std::uint64_t room =
      (outputs_.free_bytes() + outputs_.bytes() - kept_bytes_) / expected_bytes_;
  const std::size_t streams = room > in_work_ ? room - in_work_ : in_work_ == 0 ? 1 : 0;
  return within_input_bytes(std::min({streams, share_.allowance(), queued()}));
}

/// Called with the lock held. How many of the next requests, at most so many, may be in work with
/// what is: one may always, since no input is larger than the memory for them.
std::size_t LocalClientConnection::within_input_bytes(std::size_t most) const {
  std::uint64_t room = pages_.layout().sizes.input_bytes - in_work_bytes_;
  most = std::min(most, kGroup);
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint64_t bytes = requests_[first_ + i].jpeg.size();
    if (bytes > room) return i;
    room -= bytes;
  }
  return most;
}

/// Called with the lock held.
void LocalClientConnection::enter_work(std::span<const EngineRequest> group) {
  in_work_ += group.size();
  for (const EngineRequest& request : group) {
    slots_[request.tag].input_bytes = request.jpeg.size();
    in_work_bytes_ += request.jpeg.size();
  }
}

/// Called with the lock held, before the slot can be used again. The request counts in in_work_
/// until nothing of the connection is touched any more for its sake.
void LocalClientConnection::leave_work(std::uint32_t slot) noexcept {
  in_work_bytes_ -= std::exchange(slots_[slot].input_bytes, 0);
}

void LocalClientConnection::hand_in() {
  while (queued() != 0 && !stopping_) {
    const std::size_t allowed = [this] {
      const std::lock_guard lock(mutex_);
      return may_hand_in();
    }();
    if (allowed == 0) return;
    const std::size_t taken = hand_in(allowed);
    first_ += taken;
    if (taken < allowed) return;
  }
  if (queued() != 0) return;
  share_.set_waiting(false);
  requests_.clear();
  arrivals_.clear();
  first_ = 0;
}

/// @return how many of the first `count` are done with
std::size_t LocalClientConnection::hand_in(std::size_t count) {
  count_waiting(count);
  const std::span group = std::span(requests_).subspan(first_, count);
  {
    const std::lock_guard lock(mutex_);
    enter_work(group);
  }
  share_.entered(count);
  std::size_t taken = 0;
  try {
    copy_inputs(group);
    taken = try_submit(group);
  } catch (...) {  // only std::bad_alloc is expected; none was handed in
    *awaits_room_ = false;
    for (const EngineRequest& request : group) {
      const Completion refused{request.tag, fail(base::no_memory())};
      answered({&refused, 1});
    }
    return count;
  }
  share_.refused(count - taken);
  const std::lock_guard lock(mutex_);
  in_work_ -= count - taken;
  for (const EngineRequest& request : group.subspan(taken)) {
    leave_work(static_cast<std::uint32_t>(request.tag));
  }
  return taken;
}

/// The client can write to its inputs while the engine has them. What is larger than the limit says
/// stays where it is: its size alone is looked at. What the engine has refused before has its copy.
/// Throws std::bad_alloc where there is no memory.
void LocalClientConnection::copy_inputs(std::span<EngineRequest> group) {
  if (!engine_.needs_stable_inputs()) return;
  for (EngineRequest& request : group) {
    if (request.jpeg.size() > request.options.limits.max_input_bytes) continue;
    if (slots_[request.tag].copy.keeper != nullptr) continue;
    auto copy = engine_.input_slice(request.jpeg.size());
    if (!copy) throw std::bad_alloc();
    ipc::copy_once(copy->bytes.data(), request.jpeg.data(), request.jpeg.size());
    request.jpeg = copy->bytes;
    slots_[request.tag].copy = std::move(*copy);
  }
}

/// Asks to be told of room, unless that has been asked already.
std::size_t LocalClientConnection::try_submit(std::span<EngineRequest> group) {
  if (awaits_room_->exchange(true)) return engine_.try_submit(group);
  const std::size_t taken = engine_.try_submit(group, [event = event_, awaits = awaits_room_] {
    *awaits = false;
    event->notify();
  });
  if (taken == group.size()) *awaits_room_ = false;
  return taken;
}

/// Deadlines count from when a request was taken from the ring.
void LocalClientConnection::count_waiting(std::size_t count) {
  const auto now = base::Clock::now();
  for (std::size_t i = first_; i < first_ + count; ++i) {
    // What is left of a millisecond counts next time: that may be after less than another one.
    const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - arrivals_[i]);
    requests_[i].waited_ms = base::add_waited(requests_[i].waited_ms, waited);
    arrivals_[i] += waited;
  }
}

/// @return whether the client is still there
bool LocalClientConnection::sleep() {
  ipc::ControlBlock& control = pages_.control();
  if (queued() != 0) drop_expired();
  auto sleeps_for = ipc::kForNews;
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) sleeps_for = ipc::kForReleases;
    // Woken by whatever happens from here on; what happened before is looked at now.
    wants_answers_ = queued() != 0 && kept_.empty() && !*awaits_room_;
    if (wants_answers_ && share_.allowance() == 0) share_.set_waiting(true);
    if (wants_answers_ && may_hand_in() != 0) {
      wants_answers_ = false;
      return true;
    }
  }
  control.server_sleeps.store(sleeps_for, std::memory_order_seq_cst);
  std::array<pollfd, 2> files{{{peer_.fd(), POLLIN, 0}, {event_->fd(), POLLIN, 0}}};
  const auto available = submissions_.available();
  if (available && *available == 0 && !stopping_) {
    (void)::poll(files.data(), files.size(), queued() != 0 ? kDeadlineCheck_ms : -1);
  }
  control.server_sleeps.store(ipc::kAwake, std::memory_order_relaxed);
  event_->clear();
  if ((files[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  return !ipc::read_news(peer_.fd()).gone;
}

/// What is queued here is nobody's any more; what the engine has is cancelled and waited for.
void LocalClientConnection::cancel_and_wait() noexcept {
  share_.set_waiting(false);
  requests_.clear();
  arrivals_.clear();
  for (Slot& slot : slots_) slot.stop.request_stop();
  constexpr auto kLook = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  while (!idle_.wait_for(lock, kLook, [this] { return in_work_ == 0; })) {
    if (!inbox_->untaken.exchange(false)) continue;
    lock.unlock();
    take_answers(*this, *inbox_);
    lock.lock();
  }
}

}  // namespace framewire::service::local
