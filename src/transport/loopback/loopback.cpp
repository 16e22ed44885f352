#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <transport/loopback/loopback.hpp>
#include <transport/packet.hpp>
#include <vector>

namespace framewire::transport {
namespace {

struct Queued {
  std::array<std::byte, kMaxPacketHead> head;
  std::size_t head_bytes = 0;
  Payload payload;
};

struct Sent {
  LinkOp op;
  bool ok;
};

// A payload on its way from or to device memory.
struct Copy {
  Payload from;
  Placement to;
  CopyQueue* queue = nullptr;  ///< null until both ends are ready
  Ticket ticket = 0;
  bool over = false;
  bool ok = false;
};

// The state that both ends share. A payload is copied under the lock, or by a queue that close()
// waits for: whoever closes knows afterwards that nobody touches its memory.
struct Wire {
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::deque<Queued>, 2> to;    ///< packets for end i
  std::array<std::deque<Sent>, 2> sent;    ///< news for end i about its own payloads
  std::array<std::deque<Copy>, 2> copies;  ///< to end i
  std::map<std::pair<std::size_t, int>, std::unique_ptr<CopyQueue>> queues;  ///< by end and device
  std::optional<Status> broken;                                              ///< a device was lost
  Reach reach = Reach::kNone;
  std::uint64_t staged_bytes = 0;
  std::array<bool, 2> closed{};
  /// Whether end i has anything to do. It looks here first, which disturbs nobody.
  struct alignas(64) News {
    std::atomic<bool> any = false;
  };
  std::array<News, 2> news;

  // Two threads that wait for each other in the kernel take longer than a small copy.
  std::unique_lock<std::mutex> lock() {
    std::unique_lock lock(mutex, std::defer_lock);
    take(lock);
    return lock;
  }
  static void take(std::unique_lock<std::mutex>& lock) {
    for (int tries = 0; tries < kTries; ++tries) {
      if (lock.try_lock()) return;
    }
    lock.lock();
  }

  // Under the lock, behind every change.
  void note_news() {
    for (const std::size_t end : {0, 1}) {
      const bool any = !to[end].empty() || !sent[end].empty() || !copies[end].empty() || broken ||
                       closed[1 - end];
      // Not written for nothing: the other thread looks at it all the time.
      if (news[end].any.load(std::memory_order_relaxed) != any) {
        news[end].any.store(any, std::memory_order_release);
      }
    }
  }

  static constexpr int kTries = 100;  // some microseconds
};

class LoopbackLink final : public Link {
 public:
  LoopbackLink(std::shared_ptr<Wire> wire, std::size_t end) : wire_(std::move(wire)), end_(end) {}
  ~LoopbackLink() override { close(); }

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind) const override { return true; }
  bool ready() const override { return true; }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    Payload whole;
    whole.data = payload;
    whole.bytes = payload_bytes;
    whole.op = op;
    return carry(head, whole);
  }

  Result<void> carry(std::span<const std::byte> head, const Payload& payload) override {
    const auto lock = wire_->lock();
    if (wire_->closed[end_] || wire_->closed[1 - end_]) return fail(gone());
    Queued& packet = wire_->to[1 - end_].emplace_back();
    std::memcpy(packet.head.data(), head.data(), head.size());
    packet.head_bytes = head.size();
    packet.payload = payload;
    tell();
    return {};
  }

  bool progress() override {
    if (!wire_->news[end_].any.load(std::memory_order_acquire)) return false;
    bool moved = false;
    while (report_one()) moved = true;
    while (copy_one()) moved = true;
    // Takes as many as wait now: a peer that goes on sending must not keep us here.
    auto lock = wire_->lock();
    std::size_t count = wire_->to[end_].size();
    lock.unlock();
    for (; count > 0 && deliver_one(); --count) moved = true;
    while (moved && copy_one()) {  // begins what has just come
    }
    Wire::take(lock);
    const bool over = wire_->closed[1 - end_] && wire_->to[end_].empty();
    const std::optional<Status> broken = wire_->broken;
    lock.unlock();
    if ((broken || over) && sink_ != nullptr) sink_->on_lost(broken ? *broken : gone());
    return moved;
  }

  void wait(int timeout_ms) override {
    std::unique_lock lock(wire_->mutex);
    // A device does not tell when it is done: it has to be asked.
    if (!wire_->copies[end_].empty()) timeout_ms = 0;
    wire_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
      return !wire_->to[end_].empty() || !wire_->sent[end_].empty() || wire_->closed[1 - end_];
    });
  }

  void close() override {
    const auto lock = wire_->lock();
    if (std::exchange(wire_->closed[end_], true)) return;
    // What we have not received will not be; what we have sent stays readable no longer.
    for (const std::size_t end : {end_, 1 - end_}) {
      for (const Queued& packet : wire_->to[end]) tell_end(packet.payload.op, false, end);
    }
    for (const std::size_t end : {end_, 1 - end_}) {
      for (Copy& copy : wire_->copies[end]) end_copy(copy, end);
    }
    wire_->to[end_].clear();
    // Packets without payload, a farewell above all, still reach the peer.
    auto& outgoing = wire_->to[1 - end_];
    std::erase_if(outgoing, [](const Queued& packet) { return packet.payload.data != nullptr; });
    tell();
  }

  PathReport path() const override {
    const auto lock = wire_->lock();
    return {"loopback", wire_->staged_bytes, wire_->reach, {}};
  }

 private:
  static Status gone() {
    return {StatusCode::kPeerLost, "the other end of the loopback is closed"};
  }

  // Under the lock.
  void tell() {
    wire_->note_news();
    wire_->changed.notify_all();
  }

  void tell_sender(Sent sent) {
    if (sent.op != kNoOp) wire_->sent[1 - end_].push_back(sent);
    tell();
  }

  // A queue of the sending device, so that the bytes are pushed, or of the only device.
  Result<CopyQueue*> queue_of(const Copy& copy) {
    const DeviceUse& use = copy.from.device != nullptr ? *copy.from.device : *copy.to.device;
    auto& queue = wire_->queues[{end_, use.device}];
    if (queue == nullptr) {
      auto made = use.devices->make_queue(use.device);
      if (!made) return fail(made.error());
      queue = std::move(*made);
    }
    return queue.get();
  }

  Result<void> start(Copy& copy) {
    const auto queue = queue_of(copy);
    if (!queue) return fail(queue.error());
    const DeviceUse* from = copy.from.device;
    const DeviceUse* to = copy.to.device;
    const bool both = from != nullptr && to != nullptr;
    if (both) wire_->reach = from->devices->reach(from->device, to->device);
    const auto ticket = (*queue)->copy(copy.to.to, copy.from.data, copy.from.bytes,
                                       both ? sides_of(from->device, *to) : Sides::kAny);
    if (!ticket) return fail(ticket.error());
    copy.queue = *queue;
    copy.ticket = *ticket;
    if (!both || wire_->reach == Reach::kNone) wire_->staged_bytes += copy.from.bytes;
    if (to == nullptr || !to->stream) return {};
    return (*queue)->precede(to->device, *to->stream);
  }

  static bool ready(const DeviceUse* use) { return use == nullptr || use->ready(); }

  // Under the lock: brings a copy to its end, or keeps it from beginning.
  void end_copy(Copy& copy, std::size_t end) {
    if (copy.over) return;
    copy.over = true;
    copy.ok = copy.queue != nullptr && copy.queue->synchronize().has_value();
    tell_end(copy.from.op, copy.ok, end);
  }

  // Under the lock: tells who has sent to `end` that its payload is no longer read. Where memory
  // has run out nobody is told: that memory stays in use until the sender's channel has ended.
  void tell_end(LinkOp op, bool ok, std::size_t end) noexcept {
    if (op == kNoOp) return;
    try {
      wire_->sent[1 - end].push_back({op, ok});
    } catch (const std::bad_alloc&) {
    }
  }

  void break_off(const Status& status) {
    wire_->broken = status;
    for (const std::size_t end : {end_, 1 - end_}) {
      for (Copy& copy : wire_->copies[end]) end_copy(copy, end);
    }
  }

  // Begins what can begin; reports the copy that has ended first.
  bool copy_one() {
    auto lock = wire_->lock();
    auto& copies = wire_->copies[end_];
    if (copies.empty()) return false;
    std::vector<LinkOp> enqueued;
    for (Copy& copy : copies) {
      if (copy.over || copy.queue != nullptr) continue;
      if (!ready(copy.from.device) || !ready(copy.to.device)) continue;
      if (auto started = start(copy); !started) {
        break_off(started.error());
        break;
      }
      if (copy.to.device != nullptr && copy.to.device->stream) enqueued.push_back(copy.to.op);
    }
    CopyQueue* busy = nullptr;  // its later copies are not done either: asking costs a microsecond
    const auto done = std::find_if(copies.begin(), copies.end(), [&](Copy& copy) {
      if (copy.over || copy.queue == nullptr || copy.queue == busy) return copy.over;
      const auto completed = copy.queue->completed();
      if (completed && *completed < copy.ticket) {
        busy = copy.queue;
        return false;
      }
      copy.over = true;
      copy.ok = completed.has_value();
      if (!completed) wire_->broken = completed.error();
      tell_sender({copy.from.op, copy.ok});
      return true;
    });
    std::optional<Copy> ended;
    if (done != copies.end()) {
      ended = *done;
      copies.erase(done);
    }
    wire_->note_news();
    lock.unlock();
    for (const LinkOp op : enqueued) sink_->on_enqueued(op);
    if (ended && ended->to.op != kNoOp) sink_->on_received(ended->to.op, ended->ok);
    return ended.has_value();
  }

  bool report_one() {
    auto lock = wire_->lock();
    if (wire_->sent[end_].empty()) return false;
    const Sent sent = wire_->sent[end_].front();
    wire_->sent[end_].pop_front();
    wire_->note_news();
    lock.unlock();
    if (sink_ != nullptr) sink_->on_sent(sent.op, sent.ok);
    return true;
  }

  bool deliver_one() {
    auto lock = wire_->lock();
    auto& queue = wire_->to[end_];
    if (queue.empty() || sink_ == nullptr) return false;
    const Queued packet = queue.front();
    lock.unlock();
    const Placement placement =
        sink_->on_packet(std::span(packet.head).first(packet.head_bytes), packet.payload.bytes);
    Wire::take(lock);
    // Only this end and either end's close() take packets away.
    const bool still = !wire_->closed[end_] && !queue.empty() &&
                       (packet.payload.data == nullptr || !wire_->closed[1 - end_]);
    if (still) {
      queue.pop_front();
      const bool device = packet.payload.device != nullptr || placement.device != nullptr;
      if (device && placement.to != nullptr) {
        Copy& copy = wire_->copies[end_].emplace_back();
        copy.from = packet.payload;
        copy.to = placement;
        wire_->note_news();
        return true;
      }
      if (placement.to != nullptr) {
        std::memcpy(placement.to, packet.payload.data,
                    static_cast<std::size_t>(packet.payload.bytes));
      }
      tell_sender({packet.payload.op, true});
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
