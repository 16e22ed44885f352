#include <optional>
#include <transport/peer/device_link.hpp>
#include <transport/peer/receiver.hpp>
#include <transport/peer/sender.hpp>
#include <utility>

namespace framewire::transport::peer {
namespace {

// Operations of our own at the link below; those of the channel are small numbers.
constexpr LinkOp kOwnOps = LinkOp{1} << 30;
constexpr LinkOp kReceiveOps = kOwnOps + 32;

class DeviceLink final : public Link, private LinkSink {
 public:
  DeviceLink(std::unique_ptr<Link> inner, ReceiveBuffers buffers)
      : buffers_(std::move(buffers)),
        inner_(std::move(inner)),
        sender_(*inner_, kOwnOps, buffers_.theirs.get()),
        receiver_(*inner_, kReceiveOps, buffers_.ours.get()) {
    inner_->attach(this);
  }

  ~DeviceLink() override {
    close();
    sender_.close_and_wait();
    receiver_.close_and_wait();
    inner_.reset();  // its last callbacks come to us, and it touches our slots until then
    if (sink_ != nullptr) report();
  }

  void attach(LinkSink* sink) override { sink_ = sink; }
  bool takes(MemoryKind) const override { return true; }
  bool in_parts(MemoryKind kind) const override { return kind != MemoryKind::kHost; }
  bool ready() const override { return inner_->ready(); }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    return inner_->send(head, payload, payload_bytes, op);
  }

  bool send_short(const ShortPut& put, std::span<const std::byte> payload) override {
    return inner_->send_short(put, payload);
  }

  Result<void> carry(std::span<const std::byte> head, const Payload& payload) override {
    const bool whole = payload.device == nullptr && !payload.in_parts;
    if (whole || payload.bytes == 0) {
      return inner_->send(head, payload.data, payload.bytes, payload.op);
    }
    if (closed_) return fail(StatusCode::kPeerLost, "the connection is closed");
    if (head.size() > kMaxCarried) {
      return fail(StatusCode::kInternal, "records beside a payload in parts");
    }
    sender_.add(head, payload);
    note(sender_.pump());  // told by progress()
    return {};
  }

  bool progress() override {
    bool moved = inner_->progress();
    if (sender_.idle() && receiver_.idle() && refused_ == kNoOp && !broken_) return moved;
    moved = note(sender_.pump()) || moved;
    moved = note(receiver_.pump(*sink_)) || moved;
    // Packets for the channel come first: the sooner the peer is answered, the sooner its next
    // payload
    // comes. Freeing slots can wait.
    if (!moved || receiver_.many_free()) send_free();
    if (report()) moved = true;
    if (broken_ && !std::exchange(told_, true)) {
      close();
      report();
      sink_->on_lost(*broken_);
    }
    return moved;
  }

  void wait(int timeout_ms) override {
    // Neither a device nor a stream tells when it is done: both have to be asked.
    const bool asking = sender_.busy() || receiver_.busy();
    inner_->wait(asking ? 0 : timeout_ms);
  }

  void wait_or_wake(int timeout_ms, int wake_fd) override {
    const bool asking = sender_.busy() || receiver_.busy();
    inner_->wait_or_wake(asking ? 0 : timeout_ms, wake_fd);
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    sender_.close();
    inner_->close();
    receiver_.close();
    // On a device that is lost all copies have ended, with or without success.
    if (broken_ && broken_->code() == StatusCode::kDeviceLost) {
      sender_.close_and_wait();
      receiver_.close_and_wait();
    }
  }

  PathReport path() const override {
    PathReport path = inner_->path();
    path.staged_bytes += sender_.staged_bytes() + receiver_.staged_bytes();
    path.direct = buffers_.reach;
    if (!buffers_.why.empty()) path.why_staged = buffers_.why;
    if (buffers_.theirs) {
      path.name = "peer " + std::string(to_string(buffers_.reach)) + " over " + path.name;
    }
    return path;
  }

 private:
  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override {
    if (broken_) return {};
    if (is_own(head) && is_part(head)) {
      const auto placement = receiver_.on_part(head, payload_bytes, *sink_);
      if (placement) return *placement;
      break_off(placement.error());
      return {};
    }
    if (is_own(head) && is_free(head)) {
      if (auto freed = sender_.on_free(decode_free(head)); !freed) break_off(freed.error());
      return {};
    }
    const Placement placement = sink_->on_packet(head, payload_bytes);
    if (placement.device == nullptr) return placement;
    break_off({StatusCode::kInvalidInput, "the peer sends whole what it must send in parts"});
    refused_ = placement.op;
    return {};
  }
  void on_short(const ShortPut& put, std::span<const std::byte> payload) override {
    if (!broken_) sink_->on_short(put, payload);
  }
  void on_enqueued(LinkOp op) override { sink_->on_enqueued(op); }
  void on_received(LinkOp op, bool ok) override {
    if (op >= kReceiveOps) return receiver_.on_received(op - kReceiveOps, ok);
    sink_->on_received(op, ok);
  }
  void on_sent(LinkOp op, bool ok) override {
    if (op >= kOwnOps) return sender_.on_sent(op - kOwnOps, ok);
    sink_->on_sent(op, ok);
  }
  void on_lost(const Status& status) override {
    if (sink_ != nullptr) sink_->on_lost(status);
  }

  void break_off(const Status& status) {
    if (!broken_) broken_ = status;
  }

  bool note(const Result<bool>& moved) {
    if (moved) return *moved;
    break_off(moved.error());
    return true;
  }

  void send_free() {
    if (closed_) return;
    const FreeSlots free = receiver_.take_free();
    if (free.staged == 0 && free.landed == 0) return;
    HeadBuffer head;
    const std::size_t bytes = encode(free, head);
    const auto sent = inner_->send(std::span(head).first(bytes), nullptr, 0, kNoOp);
    if (!sent) break_off(sent.error());
  }

  bool report() {
    bool any = false;
    if (refused_ != kNoOp) sink_->on_received(std::exchange(refused_, kNoOp), false);
    while (const auto over = receiver_.take_over()) {
      sink_->on_received(over->op, over->ok);
      any = true;
    }
    while (const auto over = sender_.take_over()) {
      if (over->op != kNoOp) sink_->on_sent(over->op, over->ok);
      any = true;
    }
    return any;
  }

  ReceiveBuffers buffers_;
  std::unique_ptr<Link> inner_;
  Sender sender_;
  Receiver receiver_;
  LinkSink* sink_ = nullptr;
  std::optional<Status> broken_;
  LinkOp refused_ = kNoOp;  ///< the placement that will not be written, if there is one
  bool told_ = false;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Link> make_device_link(std::unique_ptr<Link> inner, ReceiveBuffers buffers) {
  return std::make_unique<DeviceLink>(std::move(inner), std::move(buffers));
}

}  // namespace framewire::transport::peer
