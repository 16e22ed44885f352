#include <sched.h>
#include <time.h>
#include <base/clock.hpp>
#include <optional>
#include <transport/shared/inbox.hpp>
#include <transport/shared/link.hpp>
#include <transport/shared/outbox.hpp>
#include <utility>

namespace framewire::transport::shared {
namespace {

// A look at the control connection is a system call; a look at the ring is not.
constexpr unsigned kRoundsPerLook = 4096;
constexpr double kSpin_us = 50;
// What one progress() takes and gives, so that a long payload keeps it from nothing else.
constexpr int kMaxParts = 16;
// A notice is sent while fewer packets than this wait for room.
constexpr std::size_t kReady = 64;

void nap() {
  const timespec brief{0, 50'000};
  nanosleep(&brief, nullptr);
}

class SharedLink final : public Link {
 public:
  SharedLink(PacketRingReader incoming, PacketRingWriter outgoing,
             std::unique_ptr<Lifeline> lifeline)
      : inbox_(std::move(incoming)), outbox_(std::move(outgoing)), lifeline_(std::move(lifeline)) {}
  ~SharedLink() override {
    close();
    give_up();
  }

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool ready() const override { return !closed_ && outbox_.waiting() < kReady; }
  PathReport path() const override { return {"shared memory", 0}; }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    if (closed_) return fail(StatusCode::kPeerLost, "the connection is closed");
    outbox_.add(head, {payload, static_cast<std::size_t>(payload_bytes)}, op, sink_);
    return {};
  }
  bool send_short(const ShortPut& put, std::span<const std::byte> payload) override {
    return !closed_ && outbox_.add(put, payload);
  }

  bool progress() override {
    if (closed_) return give_up();
    bool moved = sink_ != nullptr && drain(kMaxParts);
    if (!closed_ && !outbox_.empty()) moved = outbox_.feed(kMaxParts, sink_) || moved;
    if (++rounds_ % kRoundsPerLook == 0) look();
    report_lost();
    return moved;
  }

  void wait(int timeout_ms) override {
    const auto start = base::Clock::now();
    while (base::elapsed_us(start) < kSpin_us) {
      if (progress()) return;
      sched_yield();
    }
    // At least one look: on a busy machine a single yield may have taken all the time there was.
    while (true) {
      look();
      if (progress() || lost_ || closed_ || base::elapsed_us(start) >= timeout_ms * 1000.0) return;
      nap();
    }
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    inbox_.close();
    outbox_.close();
    lifeline_.reset();  // so that the peer knows
  }

 private:
  bool drain(int most) {
    const auto count = inbox_.drain(most, *sink_);
    if (!count && !lost_) lost_ = count.error();
    return !count || *count > 0;
  }
  void look() {
    if (closed_ || lost_) return;
    if (auto alive = lifeline_->check(); !alive) lost_ = alive.error();
  }
  void report_lost() {
    if (!lost_ || told_ || closed_ || sink_ == nullptr) return;
    // All that the peer had sent before it left lies in the ring.
    if (lost_->code() == StatusCode::kPeerLost) static_cast<void>(drain(RingLayout::kSlots));
    told_ = true;
    sink_->on_lost(*lost_);
  }
  bool give_up() {
    if (sink_ == nullptr) return false;
    inbox_.give_up(*sink_);
    outbox_.give_up(*sink_);
    return false;
  }

  Inbox inbox_;
  Outbox outbox_;
  std::unique_ptr<Lifeline> lifeline_;
  LinkSink* sink_ = nullptr;
  std::optional<Status> lost_;  ///< told once
  bool told_ = false;
  bool closed_ = false;
  unsigned rounds_ = 0;
};

}  // namespace

std::unique_ptr<Link> make_shared_link(PacketRingReader incoming, PacketRingWriter outgoing,
                                       std::unique_ptr<Lifeline> lifeline) {
  return std::make_unique<SharedLink>(std::move(incoming), std::move(outgoing),
                                      std::move(lifeline));
}

}  // namespace framewire::transport::shared
