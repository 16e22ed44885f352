// A link whose network card reads and writes the fake devices' memory, over one of host memory.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <tests/transport/fake_device.hpp>
#include <transport/link.hpp>
#include <utility>
#include <vector>

namespace framewire::transport::testing {

/// What such a card writes is seen by the devices' copies once somebody has had it settled, and no
/// sooner. Without a card it is the link below, which must be given no device memory.
class CardLink final : public Link, private LinkSink {
 public:
  CardLink(std::unique_ptr<Link> inner, bool card, bool peer_card)
      : inner_(std::move(inner)), card_(card), peer_card_(peer_card) {}

  void attach(LinkSink* sink) override {
    sink_ = sink;
    inner_->attach(this);
  }
  bool takes(MemoryKind kind) const override { return kind == MemoryKind::kHost; }
  bool reaches(const DeviceUse& use) const override {
    return card_ && use.devices == &FakeDevices::get();
  }
  bool ready() const override { return inner_->ready(); }
  bool progress() override { return inner_->progress(); }
  void wait(int timeout_ms) override { inner_->wait(timeout_ms); }
  void close() override { inner_->close(); }
  PathReport path() const override {
    PathReport path = inner_->path();
    path.gpudirect = card_;
    path.peer_gpudirect = peer_card_;
    return path;
  }
  Result<void> send(std::span<const std::byte> head, const std::byte* payload,
                    std::uint64_t payload_bytes, LinkOp op) override {
    return inner_->send(head, payload, payload_bytes, op);
  }
  Result<void> carry(std::span<const std::byte> head, const Payload& payload) override {
    const std::byte* from = payload.data;
    if (payload.device != nullptr) {
      if (!reaches(*payload.device)) return fail(StatusCode::kInternal, "no card reads that");
      from = FakeDevices::get().inside(payload.data, payload.bytes);
    }
    return inner_->send(head, from, payload.bytes, payload.op);
  }

 private:
  Placement on_packet(std::span<const std::byte> head, std::uint64_t payload_bytes) override {
    const Placement placement = sink_->on_packet(head, payload_bytes);
    if (placement.device == nullptr) return placement;
    if (!reaches(*placement.device)) throw std::logic_error("no card writes that");
    auto& written = written_[placement.op];
    written = {placement.to, std::vector<std::byte>(static_cast<std::size_t>(payload_bytes))};
    return {written.bytes.data(), placement.op, nullptr};
  }
  void on_received(LinkOp op, bool ok) override {
    auto written = written_.extract(op);
    if (ok && written) {
      FakeDevices::get().write_unsettled(written.mapped().to, std::move(written.mapped().bytes));
    }
    sink_->on_received(op, ok);
  }
  void on_sent(LinkOp op, bool ok) override { sink_->on_sent(op, ok); }
  void on_lost(const Status& status) override { sink_->on_lost(status); }

  struct Written {
    std::byte* to = nullptr;
    std::vector<std::byte> bytes;
  };
  std::unique_ptr<Link> inner_;
  bool card_;
  bool peer_card_;
  LinkSink* sink_ = nullptr;
  std::map<LinkOp, Written> written_;
};

}  // namespace framewire::transport::testing
