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
    destroyed_ = true;
    fail_all({StatusCode::kPeerLost, "the sender was destroyed"});
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> send(OutgoingFrame frame);
  bool progress();
  Result<void> close();
  void idle(int timeout_ms) { channel_.idle(timeout_ms); }
  [[nodiscard]] std::size_t under_way() const { return queue_.size() + flying_.size(); }
  [[nodiscard]] const SenderStats& stats() const { return stats_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

 private:
  struct Item {
    OutgoingFrame frame;
    Clock::time_point deadline;
    Transfer put;
    bool tried = false;  ///< was put before, and so has its place in the order
  };

  void enqueue(OutgoingFrame frame);
  bool collect();
  void judge(Item item, const Result<transport::Completion>& result);
  bool pump();
  [[nodiscard]] Result<bool> put_front();
  void end(const Item& item, const Result<void>& result);
  void fail_all(const Status& status);

  Channel channel_;
  SenderOptions options_;
  std::deque<Item> queue_;                 ///< waiting for a credit, in order
  std::deque<Item> flying_;                ///< put, not confirmed
  std::optional<transport::Lease> lease_;  ///< taken, and not used by a frame that was too large
  bool destroyed_ = false;                 ///< what `done` sends now would never end
  std::uint64_t next_ = 1;
  std::uint64_t previous_ = 0;
  SenderStats stats_;
};

void FrameSender::Impl::end(const Item& item, const Result<void>& result) {
  if (!item.frame.header.last) {
    if (result) {
      ++stats_.delivered;
      stats_.bytes += item.frame.header.payload_bytes;
    } else if (result.error().code() == StatusCode::kBusy) {
      ++stats_.dropped;
    } else {
      ++stats_.failed;
    }
  }
  if (!item.frame.done) return;
  try {
    item.frame.done(result);
  } catch (...) {
    // What a caller's function throws is dropped: the sender has other frames to end.
  }
}

void FrameSender::Impl::fail_all(const Status& status) {
  for (auto* items : {&flying_, &queue_}) {
    while (!items->empty()) {
      Item item = std::move(items->front());
      items->pop_front();
      end(item, fail(status));
    }
  }
}

// Ends a frame. One that was refused for its lease, or arrived damaged, is sent again in time.
void FrameSender::Impl::judge(Item item, const Result<transport::Completion>& result) {
  if (result) return end(item, {});
  const auto code = result.error().code();
  const bool again = code == StatusCode::kDenied || code == StatusCode::kIoError;
  if (!again || Clock::now() >= item.deadline || channel_.lost()) {
    return end(item, fail(result.error()));
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
    end(item, fail(sent.error()));
  }
  return moved;
}

bool FrameSender::Impl::progress() {
  bool moved = channel_.progress();
  moved = collect() || moved;
  moved = pump() || moved;
  if (channel_.lost() && under_way() > 0) fail_all(*channel_.lost());
  return moved;
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
  if (destroyed_) return fail(StatusCode::kPeerLost, "the sender was destroyed");
  if (auto good = check(frame.header); !good) return good;
  if (frame.header.last) return fail(StatusCode::kInvalidInput, "close() marks the end");
  if (!frame.memory.contains(frame.offset_bytes, frame.header.payload_bytes)) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} bytes from {} on are not inside a region of {} bytes",
                            frame.header.payload_bytes, frame.offset_bytes, frame.memory.size()));
  }
  const base::Deadline deadline(options_.deadline_ms);
  progress();
  while (queue_.size() >= options_.queue && !channel_.lost()) {
    if (options_.drop_oldest) {
      Item oldest = std::move(queue_.front());
      queue_.pop_front();
      end(oldest, fail(StatusCode::kBusy, "dropped: the receiver is slower"));
    } else if (!progress()) {
      if (deadline.passed()) return fail(StatusCode::kDeadline, "the receiver offers no slot");
      channel_.idle(1);
    }
  }
  if (channel_.lost()) return fail(*channel_.lost());
  ++stats_.accepted;
  enqueue(std::move(frame));
  return {};
}

Result<void> FrameSender::Impl::close() {
  const auto drain = [&]() -> Result<void> {
    while (under_way() > 0) {
      if (!progress()) channel_.idle(1);
    }
    if (channel_.lost()) return fail(*channel_.lost());
    return {};
  };
  // Every frame has its deadline, so this ends.
  if (auto drained = drain(); !drained) return drained;
  OutgoingFrame last;
  last.header.last = true;
  Result<void> told;
  last.done = [&](const Result<void>& result) { told = result; };
  enqueue(std::move(last));
  if (auto drained = drain(); !drained && !told) return drained;
  channel_.close();
  return told;
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
