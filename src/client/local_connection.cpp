// What those who submit do: slots, copies of inputs, the ring to the server.
#include <fmt/format.h>
#include <sys/socket.h>
#include <algorithm>
#include <client/local_connection.hpp>
#include <cstring>
#include <ipc/wakeup.hpp>
#include <new>
#include <utility>

namespace framewire::client {
namespace {

/// Pieces that slices may be in at a time, beside those of requests: bounds what the books cost.
constexpr std::size_t kMaxSlices = 65'536;

}  // namespace

struct LocalConnection::KeptSlice {
  KeptSlice(std::shared_ptr<LocalConnection> of, std::uint64_t at)
      : connection(std::move(of)), offset(at) {}
  ~KeptSlice() { connection->release_slice(offset); }
  KeptSlice(const KeptSlice&) = delete;
  KeptSlice& operator=(const KeptSlice&) = delete;
  std::shared_ptr<LocalConnection> connection;
  std::uint64_t offset;
};

LocalConnection::LocalConnection(ipc::SharedPages pages, transport::shared::LocalPeer peer,
                                 const Settings& settings)
    : pages_(std::move(pages)),
      peer_(std::move(peer)),
      settings_(settings),
      slice_bytes_(settings_.lends
                       ? pages_.layout().sizes.input_bytes / 2 / ipc::AreaAllocator::kUnitBytes *
                             ipc::AreaAllocator::kUnitBytes
                       : 0),
      slots_(pages_.layout().sizes.slots),
      slices_(slice_bytes_, kMaxSlices),
      copies_(pages_.layout().sizes.input_bytes - slice_bytes_, slots_.size()),
      submissions_(pages_.submissions()),
      completions_(pages_.completions()) {
  for (auto slot = static_cast<std::uint32_t>(slots_.size()); slot-- > 0;) free_.push_back(slot);
}

Result<InputSlice> LocalConnection::input_slice(std::size_t bytes) {
  if (bytes > slices_.bytes()) {
    return fail(StatusCode::kTooLarge,
                fmt::format("{} bytes are more than the {} that this client has for slices", bytes,
                            slices_.bytes()));
  }
  const std::lock_guard lock(mutex_);
  if (lost_) return fail(*lost_);
  const auto offset = slices_.take(bytes);
  if (!offset) {
    return fail(StatusCode::kBusy, fmt::format("no room for {} bytes among the {} for slices",
                                               bytes, slices_.bytes()));
  }
  try {
    return InputSlice{pages_.input().subspan(*offset, bytes),
                      std::make_shared<const KeptSlice>(shared_from_this(), *offset)};
  } catch (...) {
    slices_.give_back(*offset);
    throw;
  }
}

void LocalConnection::release_slice(std::uint64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  slices_.give_back(offset);
}

/// Why an order gets no further than here. Throws nothing: others of its group have slots already.
std::optional<Status> LocalConnection::refusal(const Order& order) const noexcept try {
  if (lost_) return lost_;
  if (order.options->fault) return order.options->fault;
  if (!in_area(order.jpeg) && order.jpeg.size() > copies_.bytes()) {
    return Status(StatusCode::kTooLarge,
                  fmt::format("an input of {} bytes is more than the {} that this client has for "
                              "copies of inputs",
                              order.jpeg.size(), copies_.bytes()));
  }
  return std::nullopt;
} catch (...) {
  return Status(lost_ ? lost_->code() : StatusCode::kBusy, std::string());
}

bool LocalConnection::in_area(std::span<const std::uint8_t> bytes) const noexcept {
  const auto area = reinterpret_cast<std::uintptr_t>(pages_.input().data());
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  return at >= area && at - area <= pages_.input().size() &&
         bytes.size() <= pages_.input().size() - (at - area);
}

std::size_t LocalConnection::submit(std::span<Order> orders, bool waits,
                                    std::function<void()> on_room) {
  return hand_in(orders, waits, on_room);
}

std::size_t LocalConnection::hand_in(std::span<Order> orders, bool waits,
                                     std::function<void()>& on_room) {
  std::vector<std::uint32_t> slots;
  slots.reserve(std::min(orders.size(), slots_.size()));
  const std::size_t handed_in = reserve(orders, waits, on_room, slots);
  for (const std::uint32_t slot : slots) prepare(slot);
  push(slots);
  return handed_in;
}

/// Takes slots, and room for copies. Orders that have no way to the server are answered at once.
std::size_t LocalConnection::reserve(std::span<Order> orders, bool waits,
                                     std::function<void()>& on_room,
                                     std::vector<std::uint32_t>& slots) {
  std::unique_lock lock(mutex_);
  if (on_room) on_room_.reserve(on_room_.size() + 1);  // what throws, throws before a slot is taken
  std::size_t done = 0;
  while (done < orders.size() && (lost_ || !has_left_)) {
    Order& order = orders[done];
    std::optional<Status> why = refusal(order);
    if (!why) {
      const auto reserved = reserve_one(order, slots);
      if (!reserved) {
        why = reserved.error();
      } else if (!*reserved) {
        if (waits && done == 0) {
          room_.wait(lock);
          continue;
        }
        // In the same critical section as the look, so that no room comes unnoticed in between.
        if (on_room) on_room_.push_back(std::exchange(on_room, nullptr));
        break;
      }
    }
    if (why) {
      lock.unlock();
      answer(order, fail(std::move(*why)));
      lock.lock();
    }
    ++done;
  }
  return done;
}

/// Called with the lock held. @return whether there was room; busy where memory for the books ran
/// out
Result<bool> LocalConnection::reserve_one(Order& order, std::vector<std::uint32_t>& slots) try {
  if (free_.empty()) return false;
  std::optional<std::uint64_t> copy;
  if (!in_area(order.jpeg)) {
    copy = copies_.take(order.jpeg.size());
    if (!copy) return false;
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.stage = Stage::kReserved;
  slot.cancelled = false;
  slot.copy = copy;
  slot.number = next_number_++;
  slot.order = std::move(order);
  ++unanswered_;
  ++reserved_;
  slots.push_back(index);
  return true;
} catch (const std::bad_alloc&) {
  return fail(base::no_memory());
}

/// Without the lock: until it is pushed nobody else touches a reserved slot, save cancel().
void LocalConnection::prepare(std::uint32_t index) {
  Slot& slot = slots_[index];
  const std::string& text = slot.order.options->text;
  std::memcpy(pages_.options(index).data(), text.data(), text.size());
  const auto jpeg = slot.order.jpeg;
  if (slot.copy && !jpeg.empty()) {
    std::memcpy(pages_.input().data() + slice_bytes_ + *slot.copy, jpeg.data(), jpeg.size());
  }
  if (!slot.order.stop.stop_possible()) return;
  try {
    slot.on_stop = std::make_unique<OnStop>(slot.order.stop, Cancel{this, index, slot.number});
  } catch (const std::bad_alloc&) {
    // The request goes on without a way to be cancelled.
  }
}

void LocalConnection::push(const std::vector<std::uint32_t>& slots) {
  if (slots.empty()) return;
  std::optional<Status> lost;
  {
    const std::lock_guard lock(mutex_);
    reserved_ -= slots.size();
    if (reserved_ == 0) pushed_.notify_all();
    if (lost_) {
      lost = copy_of(*lost_);
    } else if (is_to_hold_back()) {
      for (const std::uint32_t slot : slots) slots_[slot].stage = Stage::kHeld;
    } else {
      for (const std::uint32_t slot : slots) push_request(slot);
      submissions_.publish();
      ipc::wake(peer_.fd(), pages_.control().server_sleeps);
    }
  }
  if (lost) fail_slots(slots, *lost);
}

/// Called with the lock held. Whether requests wait for another server, since this one ends.
bool LocalConnection::is_to_hold_back() const noexcept {
  return has_left_ || (holds_back() && draining());
}

bool LocalConnection::holds_back() const noexcept {
  if (stops_retrying_) return false;
  return settings_.hold_back == HoldBack::kAlways ||
         (settings_.hold_back == HoldBack::kOnceAnswered && has_ever_answered_);
}

/// Called with the lock held. Seen after the next publish().
void LocalConnection::push_request(std::uint32_t index) {
  Slot& slot = slots_[index];
  const auto jpeg = slot.order.jpeg;
  ipc::Submission entry;
  entry.command = static_cast<std::uint32_t>(ipc::RequestCommand::kRequest);
  entry.slot = index;
  entry.offset = slot.copy ? slice_bytes_ + *slot.copy
                           : static_cast<std::uint64_t>(jpeg.data() - pages_.input().data());
  entry.bytes = jpeg.size();
  entry.options_bytes = static_cast<std::uint32_t>(slot.order.options->text.size());
  entry.client = slot.order.client;
  entry.waited_ms = slot.order.waited_ms;
  slot.stage = Stage::kSubmitted;
  push_entry(entry);
  if (slot.cancelled) push_command(ipc::RequestCommand::kCancel, index, 0);
}

void LocalConnection::push_command(ipc::RequestCommand command, std::uint32_t slot,
                                   std::uint64_t offset) {
  ipc::Submission entry;
  entry.command = static_cast<std::uint32_t>(command);
  entry.slot = slot;
  entry.offset = offset;
  push_entry(entry);
}

/// An honest server always leaves room. The connection to another ends: receive() then answers all
/// that was submitted.
void LocalConnection::push_entry(const ipc::Submission& entry) {
  if (submissions_.push(entry)) return;
  server_lied_ = true;
  (void)::shutdown(peer_.fd(), SHUT_RDWR);
}

void LocalConnection::cancel(std::uint32_t index, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  if (slot.number != number || slot.stage == Stage::kFree || slot.cancelled) return;
  slot.cancelled = true;
  if (slot.stage != Stage::kSubmitted) return;
  push_command(ipc::RequestCommand::kCancel, index, 0);
  submissions_.publish();
  ipc::wake(peer_.fd(), pages_.control().server_sleeps);
}

// A slot without a request can be cancelled: the server reads that and does nothing.
bool LocalConnection::probe() {
  const std::lock_guard lock(mutex_);
  if (lost_) return true;
  const bool has_read = submissions_.unread() == 0;
  if (has_read && !free_.empty()) {
    push_command(ipc::RequestCommand::kCancel, free_.back(), 0);
    submissions_.publish();
  }
  ipc::wake(peer_.fd(), pages_.control().server_sleeps);
  return has_read;
}

void LocalConnection::release_output(std::uint64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  push_command(ipc::RequestCommand::kRelease, 0, offset);
  submissions_.publish();
  ipc::wake(peer_.fd(), pages_.control().server_sleeps, ipc::kForReleases);
}

/// The server takes the memory back when it sees the socket closed. That is when the last view and
/// the last slice are gone, which keep this object.
void LocalConnection::close() noexcept {
  closing_ = true;
  // The socket reads as ended from here on, which wakes receive().
  (void)::shutdown(peer_.fd(), SHUT_RD);
}

void LocalConnection::end() noexcept {
  closing_ = true;
  (void)::shutdown(peer_.fd(), SHUT_RDWR);
}

std::optional<Status> LocalConnection::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace framewire::client
