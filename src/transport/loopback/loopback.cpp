#include "transport/loopback/loopback.hpp"
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include "transport/packet.hpp"

namespace framewire::transport {
namespace {

struct Queued {
  std::array<std::byte, kMaxPacketHead> head;
  std::size_t head_bytes = 0;
  const std::byte* payload = nullptr;
  std::uint64_t payload_bytes = 0;
  LinkOp op = kNoOp;
};

struct Sent {
  LinkOp op;
  bool ok;
};

// What both ends share. A payload is copied under the lock: whoever closes knows afterwards that
// nobody reads its memory.
struct Wire {
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::deque<Queued>, 2> to;  ///< packets for end i
  std::array<std::deque<Sent>, 2> sent;  ///< news for end i about its own payloads
  std::array<bool, 2> closed{};
};

class LoopbackLink final : public Link {
 public:
  LoopbackLink(std::shared_ptr<Wire> wire, std::size_t end) : wire_(std::move(wire)), end_(end) {}
  ~LoopbackLink() override { close(); }

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool ready() const override { return true; }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    const std::lock_guard lock(wire_->mutex);
    if (wire_->closed[end_] || wire_->closed[1 - end_]) return fail(gone());
    Queued& packet = wire_->to[1 - end_].emplace_back();
    std::memcpy(packet.head.data(), head.data(), head.size());
    packet.head_bytes = head.size();
    packet.payload = payload;
    packet.payload_bytes = payload_bytes;
    packet.op = op;
    wire_->changed.notify_all();
    return {};
  }

  bool progress() override {
    bool moved = false;
    while (report_one()) moved = true;
    // As many as wait now: a peer that goes on sending must not keep us here.
    std::unique_lock lock(wire_->mutex);
    std::size_t count = wire_->to[end_].size();
    lock.unlock();
    for (; count > 0 && deliver_one(); --count) moved = true;
    lock.lock();
    const bool over = wire_->closed[1 - end_] && wire_->to[end_].empty();
    lock.unlock();
    if (over && sink_ != nullptr) sink_->on_lost(gone());
    return moved;
  }

  void wait(int timeout_ms) override {
    std::unique_lock lock(wire_->mutex);
    wire_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
      return !wire_->to[end_].empty() || !wire_->sent[end_].empty() || wire_->closed[1 - end_];
    });
  }

  void close() override {
    const std::lock_guard lock(wire_->mutex);
    if (std::exchange(wire_->closed[end_], true)) return;
    // What we have not received will not be; what we have sent stays readable no longer.
    for (const std::size_t end : {end_, 1 - end_}) {
      for (const Queued& packet : wire_->to[end]) {
        if (packet.op != kNoOp) wire_->sent[1 - end].push_back({packet.op, false});
      }
    }
    wire_->to[end_].clear();
    // Packets without payload, a farewell above all, still reach the peer.
    auto& outgoing = wire_->to[1 - end_];
    std::erase_if(outgoing, [](const Queued& packet) { return packet.payload != nullptr; });
    wire_->changed.notify_all();
  }

  PathReport path() const override { return {"loopback", 0}; }

 private:
  static Status gone() {
    return {StatusCode::kPeerLost, "the other end of the loopback is closed"};
  }

  bool report_one() {
    std::unique_lock lock(wire_->mutex);
    if (wire_->sent[end_].empty()) return false;
    const Sent sent = wire_->sent[end_].front();
    wire_->sent[end_].pop_front();
    lock.unlock();
    if (sink_ != nullptr) sink_->on_sent(sent.op, sent.ok);
    return true;
  }

  bool deliver_one() {
    std::unique_lock lock(wire_->mutex);
    auto& queue = wire_->to[end_];
    if (queue.empty() || sink_ == nullptr) return false;
    const Queued packet = queue.front();
    lock.unlock();
    const Placement placement =
        sink_->on_packet(std::span(packet.head).first(packet.head_bytes), packet.payload_bytes);
    lock.lock();
    // Only this end and either end's close() take packets away.
    const bool still = !wire_->closed[end_] && !queue.empty() &&
                       (packet.payload == nullptr || !wire_->closed[1 - end_]);
    if (still) {
      if (placement.to != nullptr) {
        std::memcpy(placement.to, packet.payload, static_cast<std::size_t>(packet.payload_bytes));
      }
      queue.pop_front();
      if (packet.op != kNoOp) wire_->sent[1 - end_].push_back({packet.op, true});
      wire_->changed.notify_all();
    }
    lock.unlock();
    if (placement.op != kNoOp) sink_->on_received(placement.op, still);
    return true;
  }

  std::shared_ptr<Wire> wire_;
  std::size_t end_;
  LinkSink* sink_ = nullptr;
};

}  // namespace

std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> make_loopback() {
  auto wire = std::make_shared<Wire>();
  return {std::make_unique<LoopbackLink>(wire, 0), std::make_unique<LoopbackLink>(wire, 1)};
}

}  // namespace framewire::transport
