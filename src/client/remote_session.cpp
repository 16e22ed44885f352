// What those who submit do: slots, messages, the queue for the connection.
#include <fmt/format.h>
#include <algorithm>
#include <base/moment.hpp>
#include <client/remote_session.hpp>
#include <new>
#include <utility>

namespace framewire::client {

RemoteSession::RemoteSession(RemotePlace place, std::unique_ptr<RemoteConnection> connection)
    : place_(std::move(place)),
      max_input_bytes_(std::min(connection->input_bytes(), place_.options.input_bytes)),
      slots_(connection->slots()),
      retries_left_(place_.options.retries),
      connection_(std::move(connection)) {
  for (auto slot = static_cast<std::uint32_t>(slots_.size()); slot-- > 0;) free_.push_back(slot);
  queued_.reserve(slots_.size());
  sending_.reserve(slots_.size());
  cancels_.reserve(2 * slots_.size());
}

Result<std::shared_ptr<RemoteSession>> RemoteSession::connect(RemotePlace place) {
  if (place.options.slots == 0) {
    return fail(StatusCode::kInvalidInput, "found 0 slots; accepted: 1 or more");
  }
  auto connection = RemoteConnection::open(place, base::moment_after(place.options.timeout), {});
  if (!connection) return fail(connection.error());
  std::shared_ptr<RemoteSession> made(new RemoteSession(std::move(place), std::move(*connection)));
  if (!made->event_.valid()) {
    return fail(StatusCode::kBusy, "no descriptor is left for an event");
  }
  return made;
}

Result<InputSlice> RemoteSession::input_slice(std::size_t bytes) try {
  if (bytes > max_input_bytes_) {
    return fail(StatusCode::kTooLarge,
                fmt::format("{} bytes are more than the {} that an input of this client may have",
                            bytes, max_input_bytes_));
  }
  const std::shared_ptr<std::uint8_t[]> memory(new std::uint8_t[bytes]);
  return InputSlice{{memory.get(), bytes}, memory};
} catch (const std::bad_alloc&) {
  return fail(base::no_memory());
}

/// Why an order gets no further than here. Throws nothing: others of its group have slots already.
std::optional<Status> RemoteSession::refusal(const Order& order) const noexcept try {
  if (lost_) return lost_;
  if (order.options->fault) return order.options->fault;
  if (order.jpeg.size() <= max_input_bytes_) return std::nullopt;
  const bool by_server = max_input_bytes_ < place_.options.input_bytes;
  return Status(
      StatusCode::kTooLarge,
      fmt::format("an input of {} bytes is more than the {} that {} allows", order.jpeg.size(),
                  max_input_bytes_, by_server ? "the server at " + place_.address : "this client"));
} catch (...) {
  return Status(lost_ ? lost_->code() : StatusCode::kBusy, std::string());
}

std::size_t RemoteSession::submit(std::span<Order> orders, bool waits,
                                  std::function<void()> on_room) {
  std::vector<std::uint32_t> slots;
  slots.reserve(std::min(orders.size(), slots_.size()));
  const std::size_t handed_in = reserve(orders, waits, on_room, slots);
  std::erase_if(slots, [this](std::uint32_t slot) { return !prepare(slot); });
  queue(slots);
  return handed_in;
}

/// Takes slots. Orders that have no way to the server are answered at once.
std::size_t RemoteSession::reserve(std::span<Order> orders, bool waits,
                                   std::function<void()>& on_room,
                                   std::vector<std::uint32_t>& slots) {
  std::unique_lock lock(mutex_);
  if (on_room) on_room_.reserve(on_room_.size() + 1);  // what throws, throws before a slot is taken
  std::size_t done = 0;
  while (done < orders.size()) {
    Order& order = orders[done];
    if (auto why = refusal(order)) {
      lock.unlock();
      answer(order, fail(std::move(*why)));
      lock.lock();
    } else if (!reserve_one(order, slots)) {
      if (waits && done == 0) {
        room_.wait(lock);
        continue;
      }
      // In the same critical section as the look, so that no room comes unnoticed in between.
      if (on_room) on_room_.push_back(std::move(on_room));
      break;
    }
    ++done;
  }
  return done;
}

/// Called with the lock held. @return whether there was room
bool RemoteSession::reserve_one(Order& order, std::vector<std::uint32_t>& slots) {
  const std::uint64_t bytes = order.jpeg.size();
  if (free_.empty()) return false;
  if (input_bytes_ != 0 && input_bytes_ + bytes > place_.options.input_bytes) return false;
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.stage = Stage::kReserved;
  slot.cancelled = false;
  slot.number = next_number_++;
  slot.input_bytes = bytes;
  slot.order = std::move(order);
  input_bytes_ += bytes;
  ++unanswered_;
  slots.push_back(index);  // there is capacity for all
  return true;
}

/// Without the lock: until it is queued nobody else touches a reserved slot, save cancel().
/// @return false where memory ran out, and the order was answered
bool RemoteSession::prepare(std::uint32_t index) try {
  Slot& slot = slots_[index];
  ipc::MessageHead head;
  head.type = ipc::MessageType::kRequest;
  head.slot = index;
  head.number = slot.number;
  const auto text = std::as_bytes(std::span(slot.order.options->text));
  slot.message =
      std::make_shared<ipc::OutgoingMessage>(ipc::make_message(head, text, slot.order.jpeg));
  if (slot.order.stop.stop_possible()) {
    slot.on_stop = std::make_unique<OnStop>(slot.order.stop, Cancel{this, index, slot.number});
  }
  return true;
} catch (const std::bad_alloc&) {
  fail_slot(index, base::no_memory());
  return false;
}

void RemoteSession::queue(const std::vector<std::uint32_t>& slots) {
  if (slots.empty()) return;
  std::optional<Status> lost;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) lost = copy_of(*lost_);
    for (const std::uint32_t slot : slots) {
      if (lost) break;
      slots_[slot].stage = Stage::kQueued;
      queued_.push_back(slot);
    }
  }
  if (!lost) return event_.notify();
  for (const std::uint32_t slot : slots) fail_slot(slot, *lost);
}

/// Whoever stops has nothing to wait for: the receiving thread does the rest.
void RemoteSession::cancel(RemoteConnection::Request request) noexcept {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[request.slot];
  if (slot.number != request.number || slot.stage == Stage::kFree || slot.cancelled) return;
  slot.cancelled = true;
  if (slot.stage == Stage::kQueued) event_.notify();  // it may be held back
  // More than there is capacity for are of requests that have been answered since, but for a few.
  if (slot.stage != Stage::kOffered || cancels_.size() == cancels_.capacity()) return;
  cancels_.push_back(request);
  event_.notify();
}

void RemoteSession::close() noexcept {
  closing_ = true;
  stop_retrying();
}

void RemoteSession::stop_retrying() noexcept {
  stop_.request_stop();
  event_.notify();
}

std::optional<Status> RemoteSession::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace framewire::client
