// FrameSender: a queue in front of the peer's credits.
#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <deque>
#include <frames/header.hpp>
#include <utility>

namespace framewire::frames {
namespace {

using base::Clock;
using std::chrono::milliseconds;
using transport::Channel;
using transport::Direction;
using transport::Transfer;

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

class FrameSender::Impl {
 public:
  Impl(Channel channel, const SenderOptions& options)
      : channel_(std::move(channel)), options_(options) {}
  ~Impl() {
    if (!refused_) refused_ = "the sender was destroyed";
    fail_all({StatusCode::kPeerLost, "the sender was destroyed"});
    call_done();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> send(OutgoingFrame frame);
  bool progress();
  Result<void> close();
  void idle(int timeout_ms) { channel_.idle(timeout_ms); }
  [[nodiscard]] std::size_t under_way() const { return unended() + ended_.size(); }
  [[nodiscard]] const SenderStats& stats() const { return stats_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

 private:
  struct Item {
    OutgoingFrame frame;
    Clock::time_point deadline;
    Transfer put;
    bool tried = false;  ///< was put before, and so has its place in the order
  };

  /// A frame whose end is known, and whose `done` has not been called.
  struct Ended {
    OutgoingFrame frame;
    Result<void> result;
  };

  [[nodiscard]] std::size_t unended() const { return queue_.size() + flying_.size(); }
  [[nodiscard]] bool is_full() const { return queue_.size() >= options_.queue; }
  [[nodiscard]] Result<void> accept(OutgoingFrame frame);
  [[nodiscard]] Result<void> wait_for_room();
  [[nodiscard]] Result<void> drain();
  bool move_frames();
  bool call_done();
  void count(const Ended& ended);
  void enqueue(OutgoingFrame frame);
  bool collect();
  void judge(Item item, const Result<transport::Completion>& result);
  bool pump();
  [[nodiscard]] Result<bool> put_front();
  void end(Item item, Result<void> result);
  void fail_all(const Status& status);

  Channel channel_;
  SenderOptions options_;
  std::deque<Item> queue_;                 ///< waiting for a credit, in order
  std::deque<Item> flying_;                ///< put, not confirmed
  std::deque<Ended> ended_;                ///< in the order in which they ended
  std::optional<transport::Lease> lease_;  ///< taken, and not used by a frame that was too large
  bool is_calling_done_ = false;
  const char* refused_ = nullptr;     ///< why no frame is taken any more
  std::optional<Result<void>> last_;  ///< what became of the mark of the end
  std::uint64_t next_ = 1;
  std::uint64_t previous_ = 0;
  SenderStats stats_;
};

void FrameSender::Impl::end(Item item, Result<void> result) {
  if (item.frame.header.last) {
    last_ = std::move(result);
    return;
  }
  ended_.push_back({std::move(item.frame), std::move(result)});
}

void FrameSender::Impl::count(const Ended& ended) {
  if (ended.result) {
    ++stats_.delivered;
    stats_.bytes += ended.frame.header.payload_bytes;
  } else if (ended.result.error().code() == StatusCode::kBusy) {
    ++stats_.dropped;
  } else {
    ++stats_.failed;
  }
}

/// Only the outermost call of the sender calls `done`, since `done` may call the sender: calls
/// would nest without a bound. What ends meanwhile is left to the next call, so that this one
/// returns even where each `done` sends a frame that ends at once.
/// @return whether there was anything to call
bool FrameSender::Impl::call_done() {
  if (is_calling_done_ || ended_.empty()) return false;
  is_calling_done_ = true;
  for (std::size_t left = ended_.size(); left > 0; --left) {
    const Ended ended = std::move(ended_.front());
    ended_.pop_front();
    count(ended);
    if (!ended.frame.done) continue;
    try {
      ended.frame.done(ended.result);
    } catch (...) {
      // What a caller's function throws is dropped: the sender has other frames to end.
    }
  }
  is_calling_done_ = false;
  return true;
}

void FrameSender::Impl::fail_all(const Status& status) {
  for (auto* items : {&flying_, &queue_}) {
    while (!items->empty()) {
      Item item = std::move(items->front());
      items->pop_front();
      end(std::move(item), fail(status));
    }
  }
}

// Ends a frame. One that was refused for its lease, or arrived damaged, is sent again in time.
void FrameSender::Impl::judge(Item item, const Result<transport::Completion>& result) {
  if (result) return end(std::move(item), {});
  const auto code = result.error().code();
  const bool again = code == StatusCode::kDenied || code == StatusCode::kIoError;
  if (!again || Clock::now() >= item.deadline || channel_.lost()) {
    return end(std::move(item), fail(result.error()));
  }
  ++stats_.repeated;
  const auto place = std::find_if(queue_.begin(), queue_.end(), [&](const Item& other) {
    return other.frame.header.sequence > item.frame.header.sequence;
  });
  queue_.insert(place, std::move(item));
}

bool FrameSender::Impl::collect() {
  bool moved = false;
  for (std::size_t i = 0; i < flying_.size();) {
    if (!channel_.done(flying_[i].put)) {
      ++i;
      continue;
    }
    Item item = std::move(flying_[i]);
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    const auto result = channel_.take_result(item.put);
    judge(std::move(item), result);
    moved = true;
  }
  return moved;
}

// @return false where a credit, or room for a transfer, is missing
Result<bool> FrameSender::Impl::put_front() {
  Item& item = queue_.front();
  PictureHeader& header = item.frame.header;
  if (!lease_) {
    if (channel_.credits(Direction::kPut) == 0) return false;
    const auto lease = channel_.take_lease(Direction::kPut);
    if (!lease) return false;
    lease_ = *lease;
  }
  if (header.payload_bytes > lease_->length_bytes) {
    return fail(StatusCode::kTooLarge,
                fmt::format("a frame of {} bytes; the receiver's slots have {}",
                            header.payload_bytes, lease_->length_bytes));
  }
  if (!item.tried) {
    header.previous_sequence = previous_;
    if (header.timestamp_ns == 0) header.timestamp_ns = now_ns();
  }
  const auto left = std::chrono::duration_cast<milliseconds>(item.deadline - Clock::now()).count();
  const auto note = encode(header);
  transport::TransferOptions options;
  options.deadline_ms = static_cast<std::uint32_t>(std::max<std::int64_t>(left, 1));
  options.checksum = options_.checksum;
  options.note = note;
  const auto put = channel_.put(*lease_, item.frame.memory, item.frame.offset_bytes,
                                header.payload_bytes, options);
  if (!put && put.error().code() == StatusCode::kBusy) return false;
  if (!put) return fail(put.error());
  lease_.reset();
  item.put = *put;
  if (!std::exchange(item.tried, true)) previous_ = header.sequence;
  flying_.push_back(std::move(item));
  queue_.pop_front();
  return true;
}

bool FrameSender::Impl::pump() {
  bool moved = false;
  while (!queue_.empty() && !channel_.lost()) {
    Result<bool> sent = false;
    if (Clock::now() >= queue_.front().deadline) {
      sent = fail(StatusCode::kDeadline, "no slot came free for the frame in time");
    } else {
      sent = put_front();
    }
    if (sent && !*sent) break;
    moved = true;
    if (sent || queue_.empty()) continue;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    end(std::move(item), fail(sent.error()));
  }
  return moved;
}

/// All of progress(), save that `done` is not called.
bool FrameSender::Impl::move_frames() {
  bool moved = channel_.progress();
  moved = collect() || moved;
  moved = pump() || moved;
  if (channel_.lost()) fail_all(*channel_.lost());
  return moved;
}

bool FrameSender::Impl::progress() {
  const bool moved = move_frames();
  return call_done() || moved;
}

void FrameSender::Impl::enqueue(OutgoingFrame frame) {
  Item item;
  item.frame = std::move(frame);
  item.frame.header.sequence = next_++;
  item.deadline = Clock::now() + milliseconds(options_.deadline_ms);
  queue_.push_back(std::move(item));
  pump();
}

Result<void> FrameSender::Impl::send(OutgoingFrame frame) {
  auto accepted = accept(std::move(frame));
  call_done();
  return accepted;
}

Result<void> FrameSender::Impl::accept(OutgoingFrame frame) {
  if (refused_ != nullptr) return fail(StatusCode::kPeerLost, refused_);
  if (auto good = check(frame.header); !good) return good;
  if (frame.header.last) return fail(StatusCode::kInvalidInput, "close() marks the end");
  if (!frame.memory.contains(frame.offset_bytes, frame.header.payload_bytes)) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} bytes from {} on are not inside a region of {} bytes",
                            frame.header.payload_bytes, frame.offset_bytes, frame.memory.size()));
  }
  move_frames();
  if (!options_.drop_oldest) {
    if (auto room = wait_for_room(); !room) return room;
  }
  if (channel_.lost()) return fail(*channel_.lost());
  // A dropped frame's `done` is called once the new frame is in the queue: it may send another.
  while (is_full()) {
    Item oldest = std::move(queue_.front());
    queue_.pop_front();
    end(std::move(oldest), fail(StatusCode::kBusy, "dropped: the receiver is slower"));
  }
  ++stats_.accepted;
  enqueue(std::move(frame));
  return {};
}

/// @return nothing also where the channel is lost
Result<void> FrameSender::Impl::wait_for_room() {
  const base::Deadline deadline(options_.deadline_ms);
  while (is_full() && !channel_.lost()) {
    if (is_calling_done_) {
      return fail(StatusCode::kBusy, "the queue is full, and `done` does not wait for room");
    }
    const bool is_over = deadline.passed();  // before the look that may make room
    const bool moved = progress();
    if (!is_full()) break;
    if (is_over) return fail(StatusCode::kDeadline, "the receiver offers no slot");
    if (!moved) channel_.idle(1);
  }
  // A `done` that was called while this waited may have closed the sender.
  if (refused_ != nullptr) return fail(StatusCode::kPeerLost, refused_);
  return {};
}

/// Waits until every frame has ended, and for the calls of `done`, unless one of them waits here.
/// Every frame has its deadline, and none is taken any more, so this ends.
Result<void> FrameSender::Impl::drain() {
  while ((is_calling_done_ ? unended() : under_way()) > 0) {
    if (!progress()) channel_.idle(1);
  }
  if (channel_.lost()) return fail(*channel_.lost());
  return {};
}

Result<void> FrameSender::Impl::close() {
  if (refused_ == nullptr) refused_ = "the sender was closed";
  auto drained = drain();
  if (last_) return *last_;  // close() was called before, or by a `done`
  if (!drained) return drained;
  OutgoingFrame last;
  last.header.last = true;
  enqueue(std::move(last));
  drained = drain();
  if (!last_) return drained;
  channel_.close();
  return *last_;
}

FrameSender::FrameSender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameSender::~FrameSender() = default;
FrameSender::FrameSender(FrameSender&&) noexcept = default;
FrameSender& FrameSender::operator=(FrameSender&&) noexcept = default;

Result<FrameSender> FrameSender::make(Channel channel, const SenderOptions& options) {
  if (options.queue == 0 || options.deadline_ms == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a queue of {} frames and a deadline of {} ms; 1 or more of both",
                            options.queue, options.deadline_ms));
  }
  return FrameSender(std::make_unique<Impl>(std::move(channel), options));
}

Result<void> FrameSender::send(OutgoingFrame frame) { return impl_->send(std::move(frame)); }
bool FrameSender::progress() { return impl_->progress(); }
void FrameSender::idle(int timeout_ms) { impl_->idle(timeout_ms); }
Result<void> FrameSender::close() { return impl_->close(); }
std::size_t FrameSender::under_way() const noexcept { return impl_->under_way(); }
const SenderStats& FrameSender::stats() const noexcept { return impl_->stats(); }
const Channel& FrameSender::channel() const noexcept { return impl_->channel(); }

}  // namespace framewire::frames
