#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <base/random.hpp>
#include <transport/peer/device_link.hpp>
#include <transport/peer/handover.hpp>
#include <transport/session/links.hpp>
#include <transport/shared/handover.hpp>
#include <transport/shared/link.hpp>
#include <transport/wire/stream_link.hpp>
#include <utility>
#ifdef FRAMEWIRE_HAS_UCX
#include <transport/ucx/port.hpp>
#endif

namespace framewire::transport {
namespace {

class StreamCandidate final : public Candidate {
 public:
  wire::LinkOffer offer() const override { return {kStreamLink, {}}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer&, const shared::LocalPeer*,
                                     std::unique_ptr<wire::ByteStream> control,
                                     base::Clock::time_point) override {
    return wire::make_stream_link(std::move(control));
  }
};

// After the greeting nothing more is sent on the control connection; it only ends.
class ControlLifeline final : public Lifeline {
 public:
  explicit ControlLifeline(std::unique_ptr<wire::ByteStream> control)
      : control_(std::move(control)) {}
  Result<void> check() override {
    std::array<std::byte, 64> bytes;
    const auto count = control_->read(bytes);
    if (!count) return fail(count.error());
    if (*count == 0) return {};
    return fail(StatusCode::kInvalidInput, "the peer talks on after the greeting");
  }

 private:
  std::unique_ptr<wire::ByteStream> control_;
};

// Rings of the two processes' own, which they hand each other where they have met.
class SharedCandidate final : public Candidate {
 public:
  SharedCandidate(const shared::RingKey& key, shared::PacketRingReader incoming)
      : key_(key), incoming_(std::move(incoming)) {}
  wire::LinkOffer offer() const override { return {kSharedLink, {key_.begin(), key_.end()}}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer& peer, const shared::LocalPeer* local,
                                     std::unique_ptr<wire::ByteStream> control,
                                     base::Clock::time_point deadline) override {
    if (local == nullptr) return fail(StatusCode::kInternal, "shared memory with a stranger");
    shared::RingKey theirs;
    if (peer.blob.size() != theirs.size()) {
      return fail(StatusCode::kInvalidInput, "an offer of shared memory without the ring's key");
    }
    std::copy(peer.blob.begin(), peer.blob.end(), theirs.begin());
    auto rings = shared::exchange_rings(*local, std::move(incoming_), theirs, deadline);
    if (!rings) return fail(rings.error());
    return shared::make_shared_link(std::move(rings->incoming), std::move(rings->outgoing),
                                    std::make_unique<ControlLifeline>(std::move(control)));
  }

 private:
  shared::RingKey key_;
  shared::PacketRingReader incoming_;
};

Result<std::unique_ptr<Candidate>> make_shared() {
  shared::RingKey key;
  if (auto random = base::fill_random(std::as_writable_bytes(std::span(key))); !random) {
    return fail(random.error());
  }
  // Made before the link is offered or chosen: where there is no such memory, another link serves.
  auto incoming = shared::PacketRingReader::make(key);
  if (!incoming) return fail(incoming.error());
  return std::make_unique<SharedCandidate>(key, std::move(*incoming));
}

#ifdef FRAMEWIRE_HAS_UCX
class UcxCandidate final : public Candidate {
 public:
  UcxCandidate(std::string name, std::unique_ptr<ucx::Port> port)
      : name_(std::move(name)), port_(std::move(port)) {}
  wire::LinkOffer offer() const override { return {name_, port_->blob()}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer& peer, const shared::LocalPeer*,
                                     std::unique_ptr<wire::ByteStream> control,
                                     base::Clock::time_point deadline) override {
    return port_->join(peer.blob, std::make_unique<ControlLifeline>(std::move(control)), deadline);
  }

 private:
  std::string name_;
  std::unique_ptr<ucx::Port> port_;
};
#endif

Result<std::unique_ptr<Candidate>> make_ucx(const std::string& name, const SessionOptions& options,
                                            bool server) {
#ifdef FRAMEWIRE_HAS_UCX
  const auto lanes = name == kUcxTcpLink ? ucx::Lanes::kTcp : ucx::Lanes::kVerbs;
  ucx::DirectWish wish;
  if (lanes == ucx::Lanes::kVerbs) {
    wish.devices = options.devices;
    wish.device = options.device;
  }
  auto port = ucx::make_port(lanes, options.ucx_device,
                             server ? ucx::PortSide::kListens : ucx::PortSide::kDials, wish);
  if (!port) return fail(port.error());
  return std::make_unique<UcxCandidate>(name, std::move(*port));
#else
  static_cast<void>(options);
  static_cast<void>(server);
  return fail(StatusCode::kUnsupported, name + " is not part of this build, which had no UCX");
#endif
}

// Another candidate, with receive buffers handed over beside it.
class PeerCandidate final : public Candidate {
 public:
  PeerCandidate(std::string name, std::unique_ptr<Candidate> carrier,
                const peer::HandoverOptions& options)
      : name_(std::move(name)), carrier_(std::move(carrier)), options_(options) {}

  wire::LinkOffer offer() const override { return {name_, carrier_->offer().blob}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer& peer, const shared::LocalPeer* local,
                                     std::unique_ptr<wire::ByteStream> control,
                                     base::Clock::time_point deadline) override {
    if (local == nullptr) return fail(StatusCode::kInternal, "device memory with a stranger");
    auto link = carrier_->join(peer, local, std::move(control), deadline);
    if (!link) return fail(link.error());
    return peer::make_device_link(std::move(*link), peer::hand_over(*local, options_, deadline));
  }

 private:
  std::string name_;
  std::unique_ptr<Candidate> carrier_;
  peer::HandoverOptions options_;
};

Result<std::unique_ptr<Candidate>> make_peer(const std::string& name,
                                             const SessionOptions& options) {
  if (options.devices == nullptr) {
    return fail(StatusCode::kUnsupported, name + " is for device memory, and no device is given");
  }
  if (options.device < 0 || options.device >= options.devices->count()) {
    return fail(StatusCode::kUnsupported, fmt::format("found device {}; this machine has {}",
                                                      options.device, options.devices->count()));
  }
  auto carrier = name == kPeerLink
                     ? make_shared()
                     : Result<std::unique_ptr<Candidate>>(std::make_unique<StreamCandidate>());
  if (!carrier) return fail(carrier.error());
  peer::HandoverOptions handover;
  handover.devices = options.devices;
  handover.device = options.device;
  handover.slot_bytes =
      std::max(options.receive_buffer_bytes / peer::kReceiveBufferSlots, peer::kMinPartBytes) /
      peer::kSlotStep * peer::kSlotStep;
  return std::make_unique<PeerCandidate>(name, std::move(*carrier), handover);
}

}  // namespace

bool within_host(const std::string& name) {
  return name == kSharedLink || name == kPeerLink || name == kPeerStreamLink;
}

Result<std::vector<std::string>> allowed_links(const SessionOptions& options) {
  if (options.links.empty() && options.devices != nullptr) {
    return std::vector<std::string>{kPeerLink, kPeerStreamLink, kSharedLink, kStreamLink};
  }
  if (options.links.empty()) return std::vector<std::string>{kSharedLink, kStreamLink};
  for (const std::string& name : options.links) {
    if (name == kUcxTcpLink && !options.security.insecure) {
      return fail(StatusCode::kDenied,
                  "ucx-tcp lets anyone who reaches its port write into this process; say insecure "
                  "to accept that, or use stream, which TLS protects");
    }
    if (name == "ucx-shared") {
      return fail(StatusCode::kInvalidInput,
                  "no link is called 'ucx-shared' any more; 'shared' has taken its place");
    }
    if (name != kStreamLink && name != kUcxTcpLink && name != kUcxRdmaLink && !within_host(name)) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("no link is called '{}'; there are {}, {}, {}, {}, {} and {}", name,
                              kStreamLink, kSharedLink, kUcxTcpLink, kUcxRdmaLink, kPeerLink,
                              kPeerStreamLink));
    }
  }
  return options.links;
}

Result<std::unique_ptr<Candidate>> make_candidate(const std::string& name,
                                                  const SessionOptions& options, bool server) {
  if (name == kPeerLink || name == kPeerStreamLink) return make_peer(name, options);
  if (name == kSharedLink) return make_shared();
  if (name == kStreamLink) return std::make_unique<StreamCandidate>();
  return make_ucx(name, options, server);
}

}  // namespace framewire::transport
