// A link that misbehaves on its way out: an attacker, or a bad network.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <transport/link.hpp>
#include <transport/packet.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::testing {

struct Faults {
  std::function<void(Packet&)> rewrite;  ///< what leaves is what this makes of it
  int copies = 1;                        ///< of every packet; 0 swallows them
  int hold = 0;                          ///< packets held back, then sent last first
};

/// The faults may be changed at any time through the pointer given.
class FaultyLink final : public Link, private LinkSink {
 public:
  FaultyLink(std::unique_ptr<Link> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  void attach(LinkSink* sink) override {
    sink_ = sink;
    inner_->attach(this);
  }
  bool takes(MemoryKind kind) const override { return inner_->takes(kind); }
  bool ready() const override { return inner_->ready(); }
  bool progress() override { return inner_->progress(); }
  void wait(int timeout_ms) override { inner_->wait(timeout_ms); }
  PathReport path() const override { return inner_->path(); }
  void close() override {
    inner_->close();
    for (const Held& packet : std::exchange(held_, {})) {
      if (packet.payload.op != kNoOp) sink_->on_sent(packet.payload.op, false);
    }
  }

  bool in_parts(MemoryKind kind) const override { return inner_->in_parts(kind); }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    Payload whole;
    whole.data = payload;
    whole.bytes = payload_bytes;
    whole.op = op;
    return carry(head, whole);
  }

  Result<void> carry(std::span<const std::byte> head, const Payload& payload) override {
    held_.push_back({{}, head.size(), payload});
    std::memcpy(held_.back().head.data(), head.data(), head.size());
    if (held_.size() < static_cast<std::size_t>(faults_->hold)) return {};
    Result<void> sent;
    auto packets = std::exchange(held_, {});
    for (auto packet = packets.rbegin(); packet != packets.rend() && sent; ++packet) {
      sent = send_copies(*packet);
    }
    return sent;
  }

 private:
  struct Held {
    std::array<std::byte, kMaxPacketHead> head;
    std::size_t head_bytes;
    Payload payload;
  };

  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override {
    return sink_->on_packet(head, payload_bytes);
  }
  void on_enqueued(LinkOp op) override { sink_->on_enqueued(op); }
  void on_received(LinkOp op, bool ok) override { sink_->on_received(op, ok); }
  // Every copy reads the payload: the last of them to be over is the end of it.
  void on_sent(LinkOp op, bool ok) override {
    if (auto more = copies_.find(op); more != copies_.end() && --more->second > 0) return;
    copies_.erase(op);
    sink_->on_sent(op, ok);
  }
  void on_lost(const Status& status) override { sink_->on_lost(status); }

  Result<void> send_copies(const Held& held) {
    const LinkOp op = held.payload.op;
    if (faults_->copies == 0 && op != kNoOp) sink_->on_sent(op, true);
    if (faults_->copies > 1 && op != kNoOp) copies_[op] = faults_->copies;
    Result<void> sent;
    for (int i = 1; i <= faults_->copies && sent; ++i) {
      std::array<std::byte, kMaxPacketHead> head = held.head;
      Packet packet;
      if (faults_->rewrite && decode(std::span(head).first(held.head_bytes), packet)) {
        faults_->rewrite(packet);
        encode(packet, head);
      }
      sent = inner_->carry(std::span(head).first(held.head_bytes), held.payload);
    }
    return sent;
  }

  std::unique_ptr<Link> inner_;
  std::shared_ptr<Faults> faults_;
  LinkSink* sink_ = nullptr;
  std::vector<Held> held_;
  std::map<LinkOp, int> copies_;  ///< still open, of payloads sent more than once
};

}  // namespace framewire::transport::testing
