// FrameReceiver: offers slots to the sender, and hands frames out in order.
#include <fmt/format.h>
#include <algorithm>
#include <base/clock.hpp>
#include <chrono>
#include <frames/header.hpp>
#include <utility>
#include <vector>

namespace framewire::frames {
namespace {

using base::Clock;
using transport::Channel;
using transport::Region;
using transport::Transfer;

// An unused slot's offer is renewed when it ends.
constexpr std::uint32_t kOfferTtl_ms = 3'600'000;
constexpr std::uint64_t kSlotAlignment = 256;

}  // namespace

class FrameReceiver::Impl {
 public:
  Impl(Channel channel, Region memory, const ReceiverOptions& options)
      : channel_(std::move(channel)),
        memory_(std::move(memory)),
        options_(options),
        slots_(options.slots) {}

  Result<void> offer_all();
  Result<std::optional<ReceivedFrame>> next(std::uint32_t wait_ms);
  Result<void> release(const ReceivedFrame& frame);
  bool progress();
  [[nodiscard]] const Region& memory() const { return memory_; }
  [[nodiscard]] const ReceiverStats& stats() const { return stats_; }
  [[nodiscard]] const Channel& channel() const { return channel_; }

 private:
  enum class State : std::uint8_t { kFree, kOffered, kArrived, kHeld };
  struct Slot {
    State state = State::kFree;
    Transfer offer;
    PictureHeader header;
  };

  [[nodiscard]] std::uint64_t offset(std::uint32_t index) const {
    return index * slot_pitch(options_.slot_bytes);
  }
  [[nodiscard]] Result<void> offer(std::uint32_t index);
  void take_in(std::uint32_t index);
  void refuse(const Status& status);
  [[nodiscard]] std::optional<std::uint32_t> first_arrived() const;
  [[nodiscard]] std::optional<ReceivedFrame> hand_out();

  Channel channel_;
  Region memory_;
  ReceiverOptions options_;
  std::vector<Slot> slots_;
  std::uint64_t last_ = 0;                      ///< sequence number handed out last
  std::optional<Clock::time_point> gap_since_;  ///< a frame waits for one before it
  bool finished_ = false;
  std::optional<Status> refused_;
  ReceiverStats stats_;
};

Result<void> FrameReceiver::Impl::offer(std::uint32_t index) {
  transport::OfferOptions options;
  options.ttl_ms = kOfferTtl_ms;
  options.work_ms = options_.work_ms;
  const auto offered = channel_.offer(memory_, offset(index), options_.slot_bytes, options);
  if (!offered) return fail(offered.error());
  slots_[index].offer = *offered;
  slots_[index].state = State::kOffered;
  return {};
}

Result<void> FrameReceiver::Impl::offer_all() {
  for (std::uint32_t i = 0; i < options_.slots; ++i) {
    if (auto offered = offer(i); !offered) return offered;
  }
  channel_.progress();
  return {};
}

void FrameReceiver::Impl::refuse(const Status& status) {
  refused_ = status;
  channel_.close();
}

void FrameReceiver::Impl::take_in(std::uint32_t index) {
  Slot& slot = slots_[index];
  const auto header = decode_picture_header(channel_.note(slot.offer));
  const auto result = channel_.take_result(slot.offer);
  slot.state = State::kFree;
  if (!result) {
    if (result.error().code() == StatusCode::kIoError) ++stats_.damaged;
    return;
  }
  if (!header) return refuse(header.error());
  if (result->offset_bytes != 0 || result->length_bytes != header->payload_bytes) {
    return refuse({StatusCode::kInvalidInput,
                   fmt::format("frame {} says {} bytes and brings {} at {}", header->sequence,
                               header->payload_bytes, result->length_bytes, result->offset_bytes)});
  }
  if (header->sequence <= last_) {
    ++stats_.late;
    return;
  }
  slot.header = *header;
  slot.state = State::kArrived;
}

bool FrameReceiver::Impl::progress() {
  bool moved = channel_.progress();
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state == State::kOffered && channel_.done(slots_[i].offer)) {
      take_in(i);
      moved = true;
    }
    // Memory that a lost transfer still touches becomes free later.
    if (slots_[i].state == State::kFree && !channel_.lost()) moved = offer(i).has_value() || moved;
  }
  return moved;
}

std::optional<std::uint32_t> FrameReceiver::Impl::first_arrived() const {
  std::optional<std::uint32_t> first;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state != State::kArrived) continue;
    if (!first || slots_[i].header.sequence < slots_[*first].header.sequence) first = i;
  }
  return first;
}

// The next frame in order, unless one that was sent before it may still come.
std::optional<ReceivedFrame> FrameReceiver::Impl::hand_out() {
  auto index = first_arrived();
  // A number that came before is a dishonest peer's.
  for (; index && slots_[*index].header.sequence <= last_; index = first_arrived()) {
    ++stats_.late;
    slots_[*index].state = State::kFree;
  }
  if (!index) return std::nullopt;
  Slot& slot = slots_[*index];
  if (slot.header.previous_sequence > last_ && !channel_.lost()) {
    const auto now = Clock::now();
    if (!gap_since_) gap_since_ = now;
    if (now - *gap_since_ < std::chrono::milliseconds(options_.reorder_wait_ms)) {
      return std::nullopt;
    }
  }
  gap_since_.reset();
  stats_.dropped += slot.header.sequence - last_ - 1;
  last_ = slot.header.sequence;
  slot.state = State::kHeld;
  return ReceivedFrame{slot.header, *index, offset(*index)};
}

Result<std::optional<ReceivedFrame>> FrameReceiver::Impl::next(std::uint32_t wait_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(wait_ms);
  while (!finished_) {
    const bool moved = progress();
    if (auto frame = hand_out()) {
      if (frame->header.last) {
        finished_ = true;
        channel_.close();  // the confirmation, which the sender waits for, goes out before
        break;
      }
      ++stats_.frames;
      stats_.bytes += frame->header.payload_bytes;
      return frame;
    }
    if (refused_) return fail(*refused_);
    if (channel_.lost()) return fail(*channel_.lost());
    if (moved) continue;
    if (Clock::now() >= end) return fail(StatusCode::kDeadline, "no frame came in time");
    channel_.idle(1);
  }
  return std::nullopt;
}

Result<void> FrameReceiver::Impl::release(const ReceivedFrame& frame) {
  if (frame.slot >= slots_.size() || slots_[frame.slot].state != State::kHeld ||
      slots_[frame.slot].header.sequence != frame.header.sequence) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("slot {} does not hold frame {}", frame.slot, frame.header.sequence));
  }
  slots_[frame.slot].state = State::kFree;
  progress();
  return {};
}

FrameReceiver::FrameReceiver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameReceiver::~FrameReceiver() = default;
FrameReceiver::FrameReceiver(FrameReceiver&&) noexcept = default;
FrameReceiver& FrameReceiver::operator=(FrameReceiver&&) noexcept = default;

std::uint64_t FrameReceiver::slot_pitch(std::uint64_t slot_bytes) noexcept {
  return (slot_bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

Result<FrameReceiver> FrameReceiver::make(Channel channel, Region memory,
                                          const ReceiverOptions& options) {
  const std::uint32_t capacity = channel.config().capacity;
  if (options.slots == 0 || options.slots > capacity || options.slot_bytes == 0 ||
      options.slot_bytes > memory.size() || options.work_ms == 0) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} slots of {} bytes, {} ms for each; 1 to {} slots of 1 byte or more",
                            options.slots, options.slot_bytes, options.work_ms, capacity));
  }
  if (slot_pitch(options.slot_bytes) > memory.size() / options.slots) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("{} slots of {} bytes do not fit into {} bytes", options.slots,
                            options.slot_bytes, memory.size()));
  }
  auto impl = std::make_unique<Impl>(std::move(channel), std::move(memory), options);
  if (auto offered = impl->offer_all(); !offered) return fail(offered.error());
  return FrameReceiver(std::move(impl));
}

Result<std::optional<ReceivedFrame>> FrameReceiver::next(std::uint32_t wait_ms) {
  return impl_->next(wait_ms);
}
Result<void> FrameReceiver::release(const ReceivedFrame& frame) { return impl_->release(frame); }
bool FrameReceiver::progress() { return impl_->progress(); }
const Region& FrameReceiver::memory() const noexcept { return impl_->memory(); }
const ReceiverStats& FrameReceiver::stats() const noexcept { return impl_->stats(); }
const Channel& FrameReceiver::channel() const noexcept { return impl_->channel(); }

}  // namespace framewire::frames
