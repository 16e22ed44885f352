// What holds a connection together: the greeting, the loop, the end.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <ipc/answer.hpp>
#include <new>
#include <service/remote/connection.hpp>
#include <string>
#include <utility>

namespace framewire::service::remote {
namespace {

using base::Clock;
using std::chrono::milliseconds;

/// How often what tells nobody of its room is asked: the admission, which others use, too.
constexpr int kAskAgain_ms = 5;
/// How long a connection sleeps where nothing wakes it.
constexpr int kSleep_ms = 500;
constexpr milliseconds kLastWord{1000};

std::uint64_t max_message(const Limits& limits) {
  return ipc::message_bytes(ipc::kMaxOptionsBytes, limits.max_input_bytes);
}

}  // namespace

RemoteClientConnection::RemoteClientConnection(Common& common, std::uint64_t user,
                                               transport::Channel channel)
    : common_(common),
      client_{user},
      completions_(std::make_shared<CompletionQueue>([event = event_] { event->notify(); })),
      share_(common.share, user, *event_),
      options_(common.options.limits),
      max_message_bytes_(max_message(common.options.limits)),
      client_output_bytes_(0),
      channel_(std::move(channel)) {}

Status RemoteClientConnection::why_lost() const {
  const auto& lost = channel_.lost();
  return lost ? *lost : Status(StatusCode::kPeerLost, "the client has left");
}

/// As long as what has to be sent before takes, too: everything goes through one connection.
std::uint32_t RemoteClientConnection::time_for(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t kMaxTime_ms = 3'600'000;
  const auto patience = static_cast<std::uint64_t>(common_.options.patience.count());
  const std::uint64_t sending = bytes / common_.options.min_bytes_per_s * 1000;
  return static_cast<std::uint32_t>(std::min(kMaxTime_ms, patience + sending));
}

Result<void> RemoteClientConnection::wait_for(const std::function<bool()>& true_at_last,
                                              Clock::time_point deadline) {
  while (!true_at_last()) {
    if (channel_.lost()) return fail(why_lost());
    if (stopping_) return fail(StatusCode::kCancelled, "the server ends");
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return fail(StatusCode::kDeadline, "the client took too long");
    if (channel_.progress()) continue;
    channel_.idle(static_cast<int>(std::min<std::int64_t>(left.count(), kSleep_ms)), event_->fd());
    event_->clear();
  }
  return {};
}

Result<ipc::MessageHead> RemoteClientConnection::await_hello() {
  const auto deadline = Clock::now() + common_.options.greeting;
  const auto direction = transport::Direction::kGet;
  auto came = wait_for([&] { return channel_.credits(direction) != 0; }, deadline);
  if (!came) return fail(came.error());
  const auto lease = channel_.take_lease(direction);
  if (!lease) return fail(lease.error());
  if (lease->length_bytes != ipc::kMessageHeadBytes) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("found a greeting of {} bytes; accepted: {}", lease->length_bytes,
                            ipc::kMessageHeadBytes));
  }
  auto began = begin_fetch(*lease, {});
  if (!began) return fail(began.error());
  if (!*began) return fail(StatusCode::kBusy, "no room is left to fetch the greeting");
  const Fetch& fetch = fetches_.front();
  if (auto done = wait_for([&] { return channel_.done(fetch.transfer); }, deadline); !done) {
    return fail(done.error());
  }
  if (auto read = channel_.take_result(fetch.transfer); !read) return fail(read.error());
  const auto message = ipc::read_message(std::as_bytes(fetch.memory.bytes));
  if (!message) return fail(message.error());
  if (message->head.type != ipc::MessageType::kHello) {
    return fail(StatusCode::kInvalidInput, "what came first is no greeting");
  }
  fetching_bytes_ = 0;
  fetches_.clear();
  return message->head;
}

Result<void> RemoteClientConnection::greet() {
  if (!event_->valid()) return fail(StatusCode::kBusy, "no descriptor is left for an event");
  const auto hello = await_hello();
  if (!hello) return fail(hello.error());
  client_output_bytes_ = hello->output_bytes;
  slots_.resize(std::min(hello->slots, common_.options.slots));
  ipc::MessageHead welcome;
  welcome.type = ipc::MessageType::kWelcome;
  welcome.slots = static_cast<std::uint32_t>(slots_.size());
  welcome.input_bytes = std::max<std::uint64_t>(1, common_.options.limits.max_input_bytes);
  offer(ipc::make_message(welcome, {}, {}), {}, false);
  if (failed_) return fail(*failed_);
  return {};
}

Status RemoteClientConnection::run() noexcept {
  Status why = [this]() -> Status {
    try {
      auto served = serve();
      return served ? Status(StatusCode::kCancelled, "the server ends") : served.error();
    } catch (const std::bad_alloc&) {
      return {StatusCode::kBusy, "memory ran out"};
    } catch (...) {
      return {StatusCode::kInternal, "an exception that nobody expected"};
    }
  }();
  cancel_and_wait();
  refuse(why);
  return why;
}

void RemoteClientConnection::refuse(const Status& why) noexcept try {
  if (channel_.lost()) return;
  std::array<std::byte, ipc::kMaxMessageTextBytes> text;
  const std::size_t bytes = ipc::write_error(why, text);
  ipc::MessageHead end;
  end.type = ipc::MessageType::kEnd;
  failed_.reset();
  offer(ipc::make_message(end, std::span(text).first(bytes), {}), {}, false);
  if (failed_) return;
  const transport::Transfer last = offers_.back().transfer;
  const auto deadline = Clock::now() + kLastWord;
  while (!channel_.lost() && !channel_.done(last) && Clock::now() < deadline) {
    if (!channel_.progress()) channel_.idle(10);
  }
} catch (...) {
  // Who cannot be told sees the connection end.
}

Result<void> RemoteClientConnection::serve() {
  while (!stopping_) {
    bool moved = channel_.progress();
    if (channel_.lost()) return fail(why_lost());
    if (draining_ && !told_draining_) tell_draining();
    wants_room_ = false;
    using Step = Result<bool> (RemoteClientConnection::*)();
    constexpr std::array<Step, 5> kSteps{
        &RemoteClientConnection::take_fetched, &RemoteClientConnection::take_answers,
        &RemoteClientConnection::take_taken, &RemoteClientConnection::hand_in,
        &RemoteClientConnection::fetch};
    for (const Step step : kSteps) {
      const auto did = (this->*step)();
      if (!did) return fail(did.error());
      moved = *did || moved;
    }
    if (failed_) return fail(*failed_);
    open_ = fetching_requests_ + busy_ + offered_answers_;
    if (moved) continue;
    channel_.idle(wants_room_ ? kAskAgain_ms : kSleep_ms, event_->fd());
    event_->clear();
  }
  return {};
}

void RemoteClientConnection::drain() noexcept {
  draining_ = true;
  event_->notify();
}

void RemoteClientConnection::stop() noexcept {
  stopping_ = true;
  event_->notify();
}

/// What the engine has is cancelled and waited for; nothing else is anybody's any more.
void RemoteClientConnection::cancel_and_wait() noexcept {
  share_.set_waiting(false);
  leases_.clear();
  for (Slot& slot : slots_) {
    if (slot.busy) slot.stop.request_stop();
  }
  while (in_engine_ != 0) {
    try {
      const auto answers = completions_->take(kGroupSize, milliseconds(100));
      in_engine_ -= answers.size();
      for (std::size_t i = 0; i < answers.size(); ++i) share_.left();
    } catch (const std::bad_alloc&) {
      // No answer was lost; there will be memory once others have ended.
    }
  }
  for (Slot& slot : slots_) slot.ticket.give_back();
  open_ = 0;
}

}  // namespace framewire::service::remote
