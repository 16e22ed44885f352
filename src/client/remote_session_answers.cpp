// What the client's thread does: sends what is queued, gives answers to who asked, connects again.
#include <fmt/format.h>
#include <poll.h>
#include <algorithm>
#include <base/moment.hpp>
#include <chrono>
#include <client/remote_session.hpp>
#include <ipc/answer.hpp>
#include <new>
#include <utility>

namespace framewire::client {
namespace {

/// Whether it may help to connect once more.
bool may_pass(StatusCode code) noexcept {
  return code != StatusCode::kDenied && code != StatusCode::kUnsupported &&
         code != StatusCode::kInvalidInput;
}

}  // namespace

void RemoteSession::receive() noexcept {
  Status why(StatusCode::kPeerLost, std::string());
  try {
    why = Status(StatusCode::kPeerLost, "the connection to the server was closed");
    while (!closing_) {
      const auto served = serve();
      if (served) break;
      why = served.error();
      if (!connect_again(why)) break;
    }
  } catch (...) {
    why = base::no_memory();
  }
  drop_connection();
  fail_all(why);
}

Result<void> RemoteSession::serve() {
  while (!closing_) {
    auto moved = connection_->progress();
    count_let_go(connection_->take_let_go());
    if (!moved) {
      // What the server said before it went is as good as ever.
      if (auto said = take_messages(); !said) return fail(said.error());
      return fail(moved.error());
    }
    using Step = Result<bool> (RemoteSession::*)();
    for (const Step step : {&RemoteSession::send_queued, &RemoteSession::send_cancels,
                            &RemoteSession::take_messages}) {
      const auto did = (this->*step)();
      if (!did) return fail(did.error());
      *moved = *did || *moved;
    }
    if (auto answers = look_for_answers(); !answers) return answers;
    if (*moved) continue;
    connection_->idle(event_.fd());
    event_.clear();
    if (auto alive = look_for_life(); !alive) return alive;
  }
  return {};
}

/// A server may leave requests where they are for as long as it has no room. So it is asked for a
/// sign of life, well before its time is over.
Result<void> RemoteSession::look_for_life() {
  if (connection_->take_sign_of_life() || !awaits_answers()) {
    silence_.end();
    return {};
  }
  const auto silent = silence_.look();
  if (silent >= place_.patience) {
    return fail(StatusCode::kPeerLost,
                fmt::format("the server has shown no sign of life for {} s",
                            std::chrono::round<std::chrono::seconds>(silent).count()));
  }
  if (silent < place_.patience / 3) return {};
  if (auto asked = connection_->probe(); !asked) {
    return fail(StatusCode::kPeerLost, asked.error().message());
  }
  return {};
}

/// Signs of life can be made by who does nothing. Time in which the server fetches requests does
/// not count, and an answer on its way has the time that it may take. Views do not keep a server
/// waiting: they lie in this process' own memory.
Result<void> RemoteSession::look_for_answers() {
  const std::uint64_t fetched = connection_->fetched_bytes();
  if (std::exchange(has_answered_, false) || !awaits_answers()) {
    without_answer_.end();
    fetched_before_ = fetched;
    return {};
  }
  const std::uint64_t moving = connection_->moving_bytes();
  const auto waited =
      without_answer_.look(moving != 0, slow_time_of(fetched - fetched_before_ + moving));
  const auto bound =
      kPatiencesForAnswer * place_.patience + slow_time_of(connection_->fetching_bytes());
  if (waited < bound) return {};
  return fail(StatusCode::kPeerLost,
              fmt::format("the server has answered nothing for {} s",
                          std::chrono::round<std::chrono::seconds>(waited).count()));
}

bool RemoteSession::awaits_answers() const {
  const std::lock_guard lock(mutex_);
  return unanswered_ != 0;
}

/// A server that does its work begins the count of lost ones again.
void RemoteSession::note_answer() noexcept {
  has_answered_ = true;
  retries_left_ = place_.options.retries;
}

/// Whether requests wait here for the next server, since this one has said that it ends.
bool RemoteSession::holds_back() const noexcept {
  return draining_ && retries_left_ != 0 && !stop_.stop_requested();
}

/// Answers what was cancelled among the requests that are held back.
Result<bool> RemoteSession::drop_cancelled() {
  sending_.clear();
  {
    const std::lock_guard lock(mutex_);
    const auto kept = std::ranges::partition(
        queued_, [this](std::uint32_t index) { return !slots_[index].cancelled; });
    sending_.assign(kept.begin(), kept.end());
    queued_.erase(kept.begin(), kept.end());
  }
  for (const std::uint32_t index : sending_) {
    count_message(index);  // the server may have begun to fetch it before it said that it ends
    fail_slot(index, {StatusCode::kCancelled, "cancelled while it was queued"});
  }
  return !sending_.empty();
}

/// A server that drains has not taken what it answers with `busy`: the next one is asked.
bool RemoteSession::hold_back(std::uint32_t index, const Status& status) {
  if (!holds_back() || status.code() != StatusCode::kBusy) return false;
  const std::lock_guard lock(mutex_);
  slots_[index].stage = Stage::kQueued;
  queued_.push_back(index);
  return true;
}

Result<bool> RemoteSession::send_queued() {
  if (holds_back()) return drop_cancelled();
  sending_.clear();
  {
    const std::lock_guard lock(mutex_);
    sending_.swap(queued_);
  }
  for (const std::uint32_t index : sending_) {
    Slot& slot = slots_[index];
    const bool cancelled = [&] {
      const std::lock_guard lock(mutex_);
      if (!slot.cancelled) slot.stage = Stage::kOffered;
      return slot.cancelled;
    }();
    if (cancelled) {
      count_message(index);
      fail_slot(index, {StatusCode::kCancelled, "cancelled while it was queued"});
      continue;
    }
    auto message = place_.options.retries != 0 ? slot.message : std::move(slot.message);
    auto sent = connection_->send(std::move(message), {{index, slot.number}});
    if (!sent) return fail(StatusCode::kPeerLost, sent.error().message());
  }
  return !sending_.empty();
}

Result<bool> RemoteSession::send_cancels() {
  std::vector<RemoteConnection::Request> cancels;
  {
    const std::lock_guard lock(mutex_);
    if (cancels_.empty()) return false;
    cancels.reserve(cancels_.capacity());
    cancels.swap(cancels_);
  }
  for (const auto& request : cancels) {
    if (!is_unanswered(request.slot, request.number)) continue;
    if (connection_->take_back(request.number)) {
      fail_slot(request.slot, {StatusCode::kCancelled, "cancelled while it was queued"});
      continue;
    }
    ipc::MessageHead head;
    head.type = ipc::MessageType::kCancel;
    head.slot = request.slot;
    head.number = request.number;
    auto message = std::make_shared<ipc::OutgoingMessage>(ipc::make_message(head, {}, {}));
    auto sent = connection_->send(std::move(message), std::nullopt);
    // Without a way to be cancelled the request goes on.
    if (!sent && sent.error().code() != StatusCode::kBusy) {
      return fail(StatusCode::kPeerLost, sent.error().message());
    }
  }
  return true;
}

Result<bool> RemoteSession::take_messages() {
  bool moved = false;
  while (true) {
    auto received = connection_->receive();
    if (!received) return fail(received.error());
    if (!*received) return moved;
    moved = true;
    if (auto good = take_message(std::move(**received)); !good) return fail(good.error());
  }
}

Result<void> RemoteSession::take_message(RemoteConnection::Received received) {
  switch (received.message.head.type) {
    case ipc::MessageType::kResized:
    case ipc::MessageType::kFailed:
      return take_answer(std::move(received));
    case ipc::MessageType::kDraining:
      draining_ = true;
      return {};
    case ipc::MessageType::kEnd: {
      const auto said = ipc::read_error(received.message.text);
      return fail(StatusCode::kPeerLost,
                  "the server has ended the connection" +
                      (said ? ": " + std::string(to_string(said->code())) + ": " + said->message()
                            : std::string()));
    }
    default:
      return connection_->lied("a message that only clients send");
  }
}

bool RemoteSession::is_unanswered(std::uint32_t slot, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return slot < slots_.size() && slots_[slot].stage == Stage::kOffered &&
         slots_[slot].number == number;
}

/// The link may keep the message of a request that has an answer for a while: its bytes count until
/// it is let go.
void RemoteSession::count_message(std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  if (connection_->count_while_kept(slot.number, slot.input_bytes)) slot.input_bytes = 0;
}

/// Messages of requests that were answered before are kept no more.
void RemoteSession::count_let_go(std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    input_bytes_ -= bytes;
    room_.notify_all();
    tell.swap(on_room_);
  }
  tell_of_room(tell);
}

void RemoteSession::drop_connection() noexcept {
  const std::uint64_t bytes = connection_ ? connection_->counted_bytes() : 0;
  connection_.reset();
  count_let_go(bytes);
}

Result<void> RemoteSession::take_answer(RemoteConnection::Received received) {
  const ipc::Message& message = received.message;
  const std::uint32_t index = message.head.slot;
  if (!is_unanswered(index, message.head.number)) {
    return connection_->lied(fmt::format("nothing was asked in slot {}, or something else", index));
  }
  if (connection_->take_back(message.head.number)) {
    return connection_->lied(fmt::format("an answer to what was not fetched, in slot {}", index));
  }
  if (message.head.type == ipc::MessageType::kFailed) {
    const auto status = ipc::read_error(message.text);
    if (!status) return connection_->lied("its error is damaged");
    if (hold_back(index, *status)) return {};
    count_message(index);
    has_answered_ = true;
    if (status->code() != StatusCode::kBusy) note_answer();
    fail_slot(index, *status);
    return {};
  }
  auto report = ipc::read_report(message.text);
  if (!report) return connection_->lied("its report is damaged");
  count_message(index);
  note_answer();
  Order order = free_slot(index);
  if (order.view) {
    try {
      order.view(ResizedView{message.body, std::move(*report), std::move(received.keeper)});
    } catch (...) {
      // What a caller's function throws is dropped: the client has others to serve.
    }
  } else {
    auto result = copy_out(order, std::move(*report), message.body);
    answer(order, std::move(result));
  }
  answered();
  return {};
}

/// @param why  why the connection is lost; in the end, why there is none
bool RemoteSession::connect_again(Status& why) {
  constexpr int kPause_ms = 50;
  if (retries_left_ == 0 || !may_pass(why.code()) || connection_->server_lied()) return false;
  --retries_left_;
  const auto unfetched = connection_->unfetched();
  drop_connection();
  draining_ = false;
  drop_used_up(unfetched);
  ConnectTries tries(base::moment_after(place_.options.timeout));
  while (!stop_.stop_requested()) {
    auto made = RemoteConnection::open(place_, tries.next(), stop_.get_token());
    if (made && (*made)->slots() >= slots_.size() && (*made)->input_bytes() >= max_input_bytes_) {
      connection_ = std::move(*made);
      silence_.end();
      without_answer_.end();
      fetched_before_ = 0;
      queue_again();
      return true;
    }
    if (made) {
      why = Status(StatusCode::kPeerLost, "the server gives less than it did before");
      return false;
    }
    if (stop_.stop_requested()) return false;
    if (!may_pass(made.error().code()) || tries.are_over()) {
      why =
          Status(why.code(), why.message() + "; cannot connect again: " + made.error().to_string());
      return false;
    }
    // The server may be about to start.
    pollfd item{event_.fd(), POLLIN, 0};
    (void)::poll(&item, 1, kPause_ms);
    event_.clear();
  }
  return false;
}

/// Answers what was with so many servers that were lost that it may be why.
/// @param unfetched  what the last server had not fetched
void RemoteSession::drop_used_up(std::span<const RemoteConnection::Request> unfetched) noexcept {
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    const bool is_ours = [&] {
      const std::lock_guard lock(mutex_);
      Slot& slot = slots_[index];
      if (slot.stage != Stage::kOffered) return false;
      const bool was_fetched =
          std::ranges::find(unfetched, slot.number, &RemoteConnection::Request::number) ==
          unfetched.end();
      if (!was_fetched) return false;
      ++slot.order.losses;
      return is_used_up(slot.order, place_.options.retries);
    }();
    if (is_ours) fail_slot(index, used_up(slots_[index].order));
  }
}

/// All that was offered and not answered, in the order in which it was submitted.
void RemoteSession::queue_again() {
  const std::lock_guard lock(mutex_);
  cancels_.clear();
  queued_.clear();
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (slot.stage == Stage::kOffered) slot.stage = Stage::kQueued;
    if (slot.stage == Stage::kQueued) queued_.push_back(index);
  }
  std::ranges::sort(queued_, {}, [this](std::uint32_t index) { return slots_[index].number; });
}

Order RemoteSession::free_slot(std::uint32_t index) noexcept {
  std::unique_ptr<OnStop> on_stop;  // let go without the lock: cancel() may be waiting for it
  std::shared_ptr<const ipc::OutgoingMessage> message;  // and so is what takes long
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  Order order = std::move(slot.order);
  on_stop = std::move(slot.on_stop);
  message = std::move(slot.message);
  slot.order = {};
  slot.stage = Stage::kFree;
  input_bytes_ -= std::exchange(slot.input_bytes, 0);
  free_.push_back(index);  // has had it before
  return order;
}

void RemoteSession::answered() noexcept {
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    --unanswered_;
    room_.notify_all();
    if (free_.size() >= slots_.size() / 16 || unanswered_ == 0) tell.swap(on_room_);
  }
  tell_of_room(tell);
}

void RemoteSession::fail_slot(std::uint32_t slot, const Status& why) noexcept {
  Order order = free_slot(slot);
  answer(order, fail(copy_of(why)));
  answered();
}

void RemoteSession::fail_all(const Status& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    lost_ = copy_of(why);
    // Who waits for room gets an answer instead.
    room_.notify_all();
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const bool is_ours = [&] {
      const std::lock_guard lock(mutex_);
      return slots_[slot].stage == Stage::kQueued || slots_[slot].stage == Stage::kOffered;
    }();
    if (is_ours) fail_slot(slot, why);
  }
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    tell.swap(on_room_);
  }
  tell_of_room(tell);
}

}  // namespace framewire::client
