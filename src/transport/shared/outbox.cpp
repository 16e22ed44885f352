#include <algorithm>
#include <cstring>
#include <transport/shared/outbox.hpp>
#include <utility>

namespace framewire::transport::shared {
namespace {

// Slots that a long payload's parts leave to packets that pass between them.
constexpr std::uint64_t kSpareSlots = 8;
// Payloads of 256 KiB and less are not worth a look at the clock, and are read from the caches.
constexpr std::uint64_t kPartsWorthTiming = 32;
// So many parts of a longer payload are timed together: four times what the ring holds, so that
// what was written before has little to do with it.
constexpr std::uint64_t kPartsOfBlock = 4 * RingLayout::kSlots;

bool is_notice(std::span<const std::byte> head, std::span<const std::byte> payload) {
  return payload.empty() && head[0] == static_cast<std::byte>(PacketKind::kNotice);
}

}  // namespace

void Outbox::add(std::span<const std::byte> head, std::span<const std::byte> payload, LinkOp op,
                 LinkSink* sink) {
  auto& others = is_notice(head, payload) ? notices_ : packets_;
  if (others.empty() && write(head, payload, op, sink)) {
    if (!begun_.empty()) feed(static_cast<int>(RingLayout::kSlots), sink);
    return;
  }
  Packet& packet = others.emplace_back();
  std::memcpy(packet.head.data(), head.data(), head.size());
  packet.head_bytes = head.size();
  packet.payload = payload;
  packet.op = op;
  ++waiting_;
}

bool Outbox::write(std::span<const std::byte> head, std::span<const std::byte> payload, LinkOp op,
                   LinkSink* sink) {
  if (payload.size() <= RingLayout::kBodyBytes) {
    if (!ring_.add(head, payload)) return false;
    if (op != kNoOp && sink != nullptr) sink->on_sent(op, true);
    return true;
  }
  if (begun_.size() == RingLayout::kMaxBegun || !ring_.begin(head, payload)) return false;
  begun_.push_back({payload.subspan(RingLayout::kBodyBytes), op});
  return true;
}

void Outbox::feed(std::deque<Packet>& packets, LinkSink* sink, bool& moved) {
  while (!closed_ && !packets.empty()) {
    const Packet& next = packets.front();
    if (!write(std::span(next.head).first(next.head_bytes), next.payload, next.op, sink)) return;
    packets.pop_front();
    --waiting_;
    moved = true;
  }
}

bool Outbox::feed(int most, LinkSink* sink) {
  bool moved = false;
  if (waiting_ != 0) {
    feed(notices_, sink, moved);
    feed(packets_, sink, moved);
  }
  for (; most > 0 && !closed_ && !begun_.empty(); --most) {
    Begun& first = begun_.front();
    if (first.parts == 0) {
      first.parts = (first.left.size() + RingLayout::kBodyBytes - 1) / RingLayout::kBodyBytes;
      if (first.parts >= kPartsWorthTiming) first.start = base::Clock::now();
    }
    WayOfCopying& way = ways_[first.parts < RingLayout::kSlots ? 0 : 1];
    const bool timed = first.parts >= kPartsWorthTiming;
    const auto part = first.left.first(std::min(first.left.size(), RingLayout::kBodyBytes));
    if (!ring_.add_part(part, kSpareSlots, timed && way.past_caches())) break;
    moved = true;
    first.left = first.left.subspan(part.size());
    if (timed && (++first.timed == kPartsOfBlock || first.left.empty())) {
      if (first.timed >= kPartsWorthTiming) {
        way.took(base::elapsed_us(first.start) / static_cast<double>(first.timed));
      }
      first.timed = 0;
      first.start = base::Clock::now();
    }
    if (!first.left.empty()) continue;
    const LinkOp op = first.op;
    begun_.pop_front();
    if (op != kNoOp && sink != nullptr) sink->on_sent(op, true);
  }
  return moved;
}

void Outbox::give_up(LinkSink& sink) {
  while (!begun_.empty()) {
    const LinkOp op = begun_.front().op;
    begun_.pop_front();
    if (op != kNoOp) sink.on_sent(op, false);
  }
  notices_.clear();
  waiting_ = 0;
  for (const Packet& packet : std::exchange(packets_, {})) {
    if (packet.op != kNoOp) sink.on_sent(packet.op, false);
  }
}

}  // namespace framewire::transport::shared
