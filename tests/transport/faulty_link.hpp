// A link that misbehaves on its way out: an attacker, or a bad network.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include "transport/link.hpp"
#include "transport/packet.hpp"

namespace framewire::transport::testing {

struct Faults {
  std::function<void(Packet&)> rewrite;  ///< what leaves is what this makes of it
  int copies = 1;                        ///< of every packet; 0 swallows them
  int hold = 0;                          ///< packets held back, then sent last first
};

/// The faults may be changed at any time through the pointer given.
class FaultyLink final : public Link {
 public:
  FaultyLink(std::unique_ptr<Link> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  void attach(LinkSink* sink) override {
    sink_ = sink;
    inner_->attach(sink);
  }
  bool takes(MemoryKind kind) const override { return inner_->takes(kind); }
  bool ready() const override { return inner_->ready(); }
  bool progress() override { return inner_->progress(); }
  void wait(int timeout_ms) override { inner_->wait(timeout_ms); }
  PathReport path() const override { return inner_->path(); }
  void close() override {
    inner_->close();
    for (const Held& packet : std::exchange(held_, {})) {
      if (packet.op != kNoOp) sink_->on_sent(packet.op, false);
    }
  }

  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    held_.push_back({{}, head.size(), payload, payload_bytes, op});
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
    const std::byte* payload;
    std::uint64_t payload_bytes;
    LinkOp op;
  };

  Result<void> send_copies(const Held& held) {
    if (faults_->copies == 0 && held.op != kNoOp) sink_->on_sent(held.op, true);
    Result<void> sent;
    for (int i = 1; i <= faults_->copies && sent; ++i) {
      const LinkOp op = i == faults_->copies ? held.op : kNoOp;
      std::array<std::byte, kMaxPacketHead> head = held.head;
      Packet packet;
      if (faults_->rewrite && decode(std::span(head).first(held.head_bytes), packet)) {
        faults_->rewrite(packet);
        encode(packet, head);
      }
      sent = inner_->send(std::span(head).first(held.head_bytes), held.payload, held.payload_bytes,
                          op);
    }
    return sent;
  }

  std::unique_ptr<Link> inner_;
  std::shared_ptr<Faults> faults_;
  LinkSink* sink_ = nullptr;
  std::vector<Held> held_;
};

}  // namespace framewire::transport::testing
