#include <base/moment.hpp>
#include <chrono>
#include <client/lied.hpp>
#include <client/local_session.hpp>
#include <client/silence.hpp>
#include <new>
#include <thread>
#include <utility>

namespace framewire::client {
namespace {

constexpr std::chrono::milliseconds kConnectPause{50};

}  // namespace

LocalSession::LocalSession(LocalPlace place, std::shared_ptr<LocalConnection> connection)
    : place_(std::move(place)),
      connection_(std::move(connection)),
      retries_left_(place_.options.retries) {}

Result<std::shared_ptr<LocalSession>> LocalSession::connect(LocalPlace place) {
  const HoldBack hold_back = place.options.retries != 0 ? HoldBack::kAlways : HoldBack::kNever;
  auto connection = open_connection(place, base::moment_after(place.options.timeout), hold_back);
  if (!connection) return fail(connection.error());
  return std::shared_ptr<LocalSession>(new LocalSession(std::move(place), std::move(*connection)));
}

std::shared_ptr<LocalConnection> LocalSession::current() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

/// The connection that takes orders now.
/// @param on_room  called later where there is none and nobody waits
std::shared_ptr<LocalConnection> LocalSession::current_or_wait(bool waits,
                                                               std::function<void()>& on_room) {
  std::unique_lock lock(mutex_);
  if (waits) opened_.wait(lock, [this] { return !is_reconnecting_; });
  if (!is_reconnecting_) return connection_;
  if (on_room) on_room_.push_back(std::exchange(on_room, nullptr));
  return nullptr;
}

Result<InputSlice> LocalSession::input_slice(std::size_t bytes) {
  return current()->input_slice(bytes);
}

std::size_t LocalSession::submit(std::span<Order> orders, bool waits,
                                 std::function<void()> on_room) {
  std::size_t done = 0;
  while (done < orders.size()) {
    const auto connection = current_or_wait(waits && done == 0, on_room);
    if (connection == nullptr) break;
    done += connection->hand_in(orders.subspan(done), waits && done == 0, on_room);
    // A connection that is lost meanwhile takes no more; the next one may.
    if (!connection->has_left()) break;
  }
  return done;
}

void LocalSession::receive() noexcept {
  while (true) {
    const auto connection = current();
    Status why = connection->serve();
    try {
      if (connect_again(*connection, why)) continue;
    } catch (...) {
      why = base::no_memory();
    }
    return end(why);
  }
}

/// The lost connection's socket stays open until the last order, view and slice in its memory is
/// gone: a server that was only silent takes the memory back once it sees that its client has left.
/// @param why  why the connection is lost; in the end, why there is none
bool LocalSession::connect_again(LocalConnection& lost, Status& why) {
  if (lost.has_ever_answered()) retries_left_ = place_.options.retries;
  if (stop_.stop_requested() || retries_left_ == 0 || lost.server_lied()) return false;
  --retries_left_;
  {
    const std::lock_guard lock(mutex_);
    is_reconnecting_ = true;
  }
  take_what_is_left(lost);
  drop_used_up();
  auto made = open_again(lost, why);
  if (made == nullptr) return false;
  take_over(std::move(made));
  hand_in_again();
  return true;
}

/// Answers what was with so many servers that were lost that it may be why.
void LocalSession::drop_used_up() noexcept {
  auto kept = unanswered_.begin();
  for (Unanswered& one : unanswered_) {
    if (is_used_up(one.order, place_.options.retries)) {
      answer(one.order, fail(used_up(one.order)));
    } else {
      if (&*kept != &one) *kept = std::move(one);
      ++kept;
    }
  }
  unanswered_.erase(kept, unanswered_.end());
}

/// Puts the orders of the lost connection before those that already waited for the next one.
void LocalSession::take_what_is_left(LocalConnection& lost) {
  const auto memory = current();
  LeftBehind left = lost.leave_behind();
  try {
    while (!left.orders.empty()) {
      unanswered_.emplace_front();  // throws before an order is moved
      unanswered_.front().order = std::move(left.orders.back());
      unanswered_.front().memory = memory;
      left.orders.pop_back();
    }
    const std::lock_guard lock(mutex_);
    on_room_.insert(on_room_.end(), left.on_room.begin(), left.on_room.end());
  } catch (const std::bad_alloc&) {
    for (Order& order : left.orders) answer(order, fail(base::no_memory()));
    tell_of_room(left.on_room);
    throw;
  }
}

/// A server that is started again takes some seconds.
std::shared_ptr<LocalConnection> LocalSession::open_again(const LocalConnection& lost,
                                                          Status& why) const {
  ConnectTries tries(base::moment_after(place_.options.timeout));
  const HoldBack hold_back = retries_left_ != 0 ? HoldBack::kAlways : HoldBack::kOnceAnswered;
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    auto made = open_connection(place_, tries.next(), hold_back, stop);
    if (made) {
      if ((*made)->slots() >= lost.slots() && (*made)->input_bytes() >= lost.input_bytes() &&
          (*made)->output_bytes() >= lost.output_bytes()) {
        return std::move(*made);
      }
      why = Status(StatusCode::kPeerLost, "the server gives less than it did before");
      return nullptr;
    }
    const StatusCode code = made.error().code();
    if (code == StatusCode::kDenied || code == StatusCode::kUnsupported ||
        code == StatusCode::kInvalidInput || is_lie(made.error()) || tries.are_over()) {
      why =
          Status(why.code(), why.message() + "; cannot connect again: " + made.error().to_string());
      return nullptr;
    }
    std::this_thread::sleep_for(kConnectPause);
  }
  return nullptr;
}

void LocalSession::take_over(std::shared_ptr<LocalConnection> connection) {
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
  if (closing_) connection_->close();
  if (stop_.stop_requested()) connection_->stop_retrying();
}

/// As many as there is room for: inputs that lay in memory for slices are copies now. Called again
/// once there is more room. Until all are in, nobody else's orders take it.
void LocalSession::hand_in_again() {
  const auto connection = current();
  while (!unanswered_.empty()) {
    Unanswered& first = unanswered_.front();
    if (first.order.stop.stop_requested()) {
      answer(first.order, fail(StatusCode::kCancelled, "cancelled while it was queued"));
    } else {
      try {
        std::function<void()> again = [this] { hand_in_again(); };
        if (connection->hand_in({&first.order, 1}, false, again) == 0) return;
      } catch (const std::bad_alloc&) {
        answer(first.order, fail(base::no_memory()));
      }
    }
    unanswered_.pop_front();
  }
  open_to_all();
}

void LocalSession::open_to_all() noexcept {
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_reconnecting_, false)) return;
    tell.swap(on_room_);
  }
  opened_.notify_all();
  tell_of_room(tell);
}

/// Answers all that is unanswered, and all that comes.
void LocalSession::end(const Status& why) noexcept {
  current()->fail_all(why);
  for (Unanswered& one : unanswered_) answer(one.order, fail(copy_of(why)));
  unanswered_.clear();
  open_to_all();
}

void LocalSession::close() noexcept {
  closing_ = true;
  stop_.request_stop();
  current()->close();
}

void LocalSession::stop_retrying() noexcept {
  stop_.request_stop();
  current()->stop_retrying();
}

std::optional<Status> LocalSession::lost() const { return current()->lost(); }
bool LocalSession::draining() const noexcept { return current()->draining(); }

}  // namespace framewire::client
