// What the client's thread does: takes answers from the ring and gives them to who asked.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <client/lied.hpp>
#include <client/local_connection.hpp>
#include <ipc/answer.hpp>
#include <ipc/greeting.hpp>
#include <ipc/wakeup.hpp>
#include <new>
#include <utility>

namespace framewire::client {
struct LocalConnection::KeptView {
  KeptView(std::shared_ptr<LocalConnection> of, std::uint64_t at)
      : connection(std::move(of)), offset(at) {
    ++connection->kept_views_;
  }
  ~KeptView() {
    --connection->kept_views_;
    connection->release_output(offset);
  }
  KeptView(const KeptView&) = delete;
  KeptView& operator=(const KeptView&) = delete;
  std::shared_ptr<LocalConnection> connection;
  std::uint64_t offset;
};

/// Gives answers on. Callbacks are called at once; completion queues, and those who wait for room,
/// learn of up to kGroup answers together.
class LocalConnection::Answers {
 public:
  explicit Answers(LocalConnection& connection) : connection_(connection) {}
  ~Answers() { flush(); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void add(Order order, Result<Resized> result) noexcept {
    tickets_[count_] = std::move(order.ticket);
    if (order.completions != nullptr) {
      if (queue_ != order.completions) put();
      queue_ = std::move(order.completions);
      order.completion.front().result = std::move(result);
      completions_.splice(completions_.end(), order.completion);
    } else {
      answer(order, std::move(result));
    }
    count_one();
  }
  void add(Order order, ResizedView view) noexcept {
    tickets_[count_] = std::move(order.ticket);
    try {
      order.view(std::move(view));
    } catch (...) {
      // What a caller's function throws is dropped: the client has others to serve.
    }
    order = {};
    count_one();
  }
  void flush() noexcept {
    put();
    Outstanding::end(std::span(tickets_).first(count_));
    if (count_ != 0) connection_.answered(std::exchange(count_, 0));
  }

 private:
  static constexpr std::size_t kGroup = 32;
  void put() noexcept {
    if (queue_ == nullptr) return;
    queue_->put(std::move(completions_));
    completions_.clear();
    queue_.reset();
  }
  void count_one() noexcept {
    if (++count_ == kGroup) flush();
  }

  LocalConnection& connection_;
  std::shared_ptr<CompletionQueue> queue_;  ///< that `completions_` are for
  std::list<Completion> completions_;
  std::array<Outstanding::Ticket, kGroup> tickets_;  ///< of the first `count_`
  std::size_t count_ = 0;
};

void LocalConnection::receive() noexcept { fail_all(serve()); }

Status LocalConnection::serve() noexcept {
  Status why(StatusCode::kPeerLost, std::string());
  try {
    why = Status(StatusCode::kPeerLost, "the connection to the server was closed");
    Result<void> going;
    while (going && !closing_) {
      Answers answers(*this);
      const auto taken = take_answers(answers);
      if (!taken) {
        server_lied_ = true;
        going = fail(taken.error());
      } else if (*taken) {
        is_alive_ = has_answered_ = true;
      } else {
        answers.flush();
        going = sleep();
      }
    }
    // What the server put there before it went is as good as ever.
    for (bool more = !going; more;) {
      Answers answers(*this);
      const auto taken = take_answers(answers);
      if (!taken) server_lied_ = true;
      more = taken && *taken;
    }
    if (!going) why = going.error();
  } catch (...) {
    why = base::no_memory();
  }
  // A server that is believed no more is to know. Another one learns when the socket is closed.
  if (server_lied_) (void)::shutdown(peer_.fd(), SHUT_RDWR);
  return why;
}

Result<bool> LocalConnection::take_answers(Answers& answers) {
  constexpr std::size_t kGroup = 64;
  const auto count = completions_.available();
  if (!count) return lied("its index is out of bounds");
  const std::size_t taken = std::min<std::size_t>(*count, kGroup);
  for (std::size_t i = 0; i < taken; ++i) {
    const ipc::CompletionEntry entry = completions_.take();
    // Before the slot is used again: the server counts what is unread.
    completions_.give_back();
    if (auto good = take_answer(entry, answers); !good) return fail(good.error());
  }
  return taken != 0;
}

Result<void> LocalConnection::take_answer(const ipc::CompletionEntry& entry, Answers& answers) {
  {
    const std::lock_guard lock(mutex_);
    if (entry.slot >= slots_.size() || slots_[entry.slot].stage != Stage::kSubmitted) {
      return lied(fmt::format("nothing was asked in slot {}", entry.slot));
    }
  }
  const std::span<const std::uint8_t> area = pages_.output();
  const bool resized = entry.outcome == static_cast<std::uint32_t>(ipc::AnswerKind::kResized);
  if (entry.report_bytes > report_.size() || entry.offset > area.size() ||
      entry.bytes > area.size() - entry.offset) {
    return lied(fmt::format("{} bytes at {}, and {} of a report", entry.bytes, entry.offset,
                            entry.report_bytes));
  }
  // Out of the slot's memory before somebody else has the slot.
  ipc::copy_once(report_.data(), pages_.report(entry.slot).data(), entry.report_bytes);
  const auto bytes = std::span<const std::byte>(report_).first(entry.report_bytes);
  // Until all that may take memory is there the request keeps its slot, where fail_all() finds it.
  if (!resized) {
    auto why = ipc::read_error(bytes);
    if (!why) return lied("its error is damaged");
    if (why->code() == StatusCode::kPeerLost) return lied("it is here and says it left");
    if (hold_back(entry.slot, *why)) return {};
    if (why->code() != StatusCode::kBusy) has_ever_answered_ = true;
    answers.add(free_slot(entry.slot), fail(std::move(*why)));
    return {};
  }
  auto report = ipc::read_report(bytes);
  if (!report) return lied("its report is damaged");
  has_ever_answered_ = true;
  answer_resized(entry.slot, std::move(*report), area.subspan(entry.offset, entry.bytes), answers);
  return {};
}

/// A server that drains has not taken what it answers with `busy`, and in the end cancels what it
/// has: the next one is asked. What another server cancels is answered, since no next one may come.
bool LocalConnection::hold_back(std::uint32_t slot, const Status& status) {
  const std::lock_guard lock(mutex_);
  const bool is_refused = status.code() == StatusCode::kBusy;
  const bool is_dropped = status.code() == StatusCode::kCancelled && !slots_[slot].cancelled;
  if (!is_to_hold_back() || (!is_refused && !is_dropped)) return false;
  slots_[slot].stage = Stage::kHeld;
  return true;
}

void LocalConnection::answer_resized(std::uint32_t slot, Report report,
                                     std::span<const std::uint8_t> stream, Answers& answers) {
  const auto offset = static_cast<std::uint64_t>(stream.data() - pages_.output().data());
  // What was submitted is this thread's alone, but for cancel(), which leaves the order as it is.
  if (slots_[slot].order.view) {
    auto keeper = std::make_shared<const KeptView>(shared_from_this(), offset);
    return answers.add(free_slot(slot), ResizedView{stream, std::move(report), std::move(keeper)});
  }
  Order order = free_slot(slot);
  auto result = copy_out(order, std::move(report), stream);
  // First the room, then the answer, which may lead to the next request.
  release_output(offset);
  answers.add(std::move(order), std::move(result));
}

Order LocalConnection::free_slot(std::uint32_t index) noexcept {
  std::unique_ptr<OnStop> on_stop;  // let go without the lock: cancel() may be waiting for it
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  Order order = std::move(slot.order);
  on_stop = std::move(slot.on_stop);
  if (slot.copy) copies_.give_back(*slot.copy);
  slot.copy.reset();
  slot.order = {};
  slot.stage = Stage::kFree;
  free_.push_back(index);  // has had it before
  return order;
}

/// @return why there is no server any more
Result<void> LocalConnection::sleep() {
  std::atomic<std::uint32_t>& sleeps = pages_.control().client_sleeps;
  sleeps.store(ipc::kForNews, std::memory_order_seq_cst);
  pollfd file{peer_.fd(), POLLIN, 0};
  const auto available = completions_.available();
  const int time_ms =
      settings_.patience.count() == 0 ? -1 : static_cast<int>(kLookInterval.count());
  const bool slept = available && *available == 0;
  if (slept) (void)::poll(&file, 1, time_ms);
  sleeps.store(ipc::kAwake, std::memory_order_relaxed);
  if (auto good = look_for_answers(); !good) return good;
  if (file.revents == 0) return slept ? look_for_life() : Result<void>();
  const ipc::News news = ipc::read_news(peer_.fd());
  if (news.has_word) {
    if (auto said = ipc::read_word(news.word); !said) {
      return fail(StatusCode::kPeerLost, "the server has ended the connection: " +
                                             std::string(to_string(said.error().code())) + ": " +
                                             said.error().message());
    }
  }
  if (news.gone) return fail(StatusCode::kPeerLost, "the server is gone");
  return {};
}

/// What the server's thread for this client does moves: answers, its index in the ring, or that it
/// goes back to sleep once it has been woken, whatever the length of its queue.
Result<void> LocalConnection::look_for_life() {
  if (settings_.patience.count() == 0) return {};
  if (settings_.hold_back != HoldBack::kNever) answer_held();
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t reader = submissions_.reader();
    const bool has_read = std::exchange(last_reader_, reader) != reader;
    if (std::exchange(is_alive_, false) || has_read || unanswered_ == 0 ||
        ipc::wake(peer_.fd(), pages_.control().server_sleeps)) {
      silence_.end();
      return {};
    }
  }
  const auto silent = silence_.look();
  if (silent < settings_.patience) return {};
  return fail(StatusCode::kPeerLost,
              fmt::format("the server has shown no sign of life for {} s",
                          std::chrono::round<std::chrono::seconds>(silent).count()));
}

/// Signs of life can be made by who does nothing. Where this client keeps outputs, or there is
/// nothing to answer, the server may wait for it.
Result<void> LocalConnection::look_for_answers() {
  if (settings_.patience.count() == 0) return {};
  const bool awaits = [this] {
    const std::lock_guard lock(mutex_);
    return unanswered_ != 0;
  }();
  if (std::exchange(has_answered_, false) || !awaits || kept_views_ != 0) {
    without_answer_.end();
    return {};
  }
  const auto waited = without_answer_.look();
  if (waited < kPatiencesForAnswer * settings_.patience) return {};
  return fail(StatusCode::kPeerLost,
              fmt::format("the server has answered nothing for {} s",
                          std::chrono::round<std::chrono::seconds>(waited).count()));
}

/// Answers the requests that were held back and wait for no other server any more.
void LocalConnection::answer_held() noexcept {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    std::unique_lock lock(mutex_);
    if (slots_[slot].stage != Stage::kHeld) continue;
    const bool cancelled = slots_[slot].cancelled;
    lock.unlock();
    if (cancelled) {
      fail_slot(slot, {StatusCode::kCancelled, "cancelled while it was queued"});
    } else if (stops_retrying_) {
      fail_slot(slot, {StatusCode::kBusy, "the server is draining"});
    }
  }
}

bool LocalConnection::has_left() const {
  const std::lock_guard lock(mutex_);
  return has_left_;
}

LeftBehind LocalConnection::leave_behind() {
  LeftBehind left;
  std::vector<std::unique_ptr<OnStop>> stops;  // let go without the lock: cancel() may wait for it
  std::vector<std::uint32_t> held;
  stops.reserve(slots_.size());
  held.reserve(slots_.size());
  left.orders.reserve(slots_.size());
  std::unique_lock lock(mutex_);
  has_left_ = true;
  room_.notify_all();
  // Those who submit have copied their inputs soon.
  pushed_.wait(lock, [this] { return reserved_ == 0; });
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    if (slots_[index].stage == Stage::kFree) continue;
    held.push_back(index);
  }
  std::ranges::sort(held, {}, [this](std::uint32_t index) { return slots_[index].number; });
  for (const std::uint32_t index : held) {
    Slot& slot = slots_[index];
    if (slot.stage == Stage::kSubmitted) ++slot.order.losses;
    // The copy is all that there is of an input which is the caller's no more.
    if (slot.copy) {
      slot.order.jpeg = pages_.input().subspan(slice_bytes_ + *slot.copy, slot.order.jpeg.size());
    }
    left.orders.push_back(std::move(slot.order));
    stops.push_back(std::move(slot.on_stop));
    slot.order = {};
    slot.stage = Stage::kFree;
  }
  left.on_room.swap(on_room_);
  unanswered_ = 0;
  return left;
}

void LocalConnection::answered(std::size_t count) noexcept {
  std::vector<std::function<void()>> tell;
  {
    const std::lock_guard lock(mutex_);
    unanswered_ -= count;
    room_.notify_all();
    if (free_.size() >= slots_.size() / 16 || unanswered_ == 0) tell.swap(on_room_);
  }
  tell_of_room(tell);
}

void LocalConnection::fail_all(const Status& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    lost_ = copy_of(why);
    // Who waits for room gets an answer instead.
    room_.notify_all();
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const bool is_ours = [&] {
      const std::lock_guard lock(mutex_);
      return slots_[slot].stage == Stage::kSubmitted || slots_[slot].stage == Stage::kHeld;
    }();
    if (is_ours) fail_slot(slot, why);
  }
  answered(0);
}

void LocalConnection::fail_slots(const std::vector<std::uint32_t>& slots,
                                 const Status& why) noexcept {
  for (const std::uint32_t slot : slots) fail_slot(slot, why);
}

void LocalConnection::fail_slot(std::uint32_t slot, const Status& why) noexcept {
  Order order = free_slot(slot);
  answer(order, fail(copy_of(why)));
  answered(1);
}

}  // namespace framewire::client
