#include "transport/session/links.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include "transport/peer/device_link.hpp"
#include "transport/peer/handover.hpp"
#include "transport/wire/stream_link.hpp"
#ifdef FRAMEWIRE_HAS_UCX
#include "transport/ucx/port.hpp"
#endif

namespace framewire::transport {
namespace {

class StreamCandidate final : public Candidate {
 public:
  wire::LinkOffer offer() const override { return {kStreamLink, {}}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer&, std::unique_ptr<wire::Stream> control,
                                     base::Clock::time_point) override {
    return wire::make_stream_link(std::move(control));
  }
};

#ifdef FRAMEWIRE_HAS_UCX
// After the greeting nothing more is said on the control connection; it only ends.
class ControlLifeline final : public ucx::Lifeline {
 public:
  explicit ControlLifeline(std::unique_ptr<wire::Stream> control) : control_(std::move(control)) {}
  Result<void> check() override {
    std::array<std::byte, 64> bytes;
    const auto count = control_->read(bytes);
    if (!count) return fail(count.error());
    if (*count == 0) return {};
    return fail(StatusCode::kInvalidInput, "the peer talks on after the greeting");
  }

 private:
  std::unique_ptr<wire::Stream> control_;
};

class UcxCandidate final : public Candidate {
 public:
  UcxCandidate(std::string name, std::unique_ptr<ucx::Port> port)
      : name_(std::move(name)), port_(std::move(port)) {}
  wire::LinkOffer offer() const override { return {name_, port_->blob()}; }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer& peer,
                                     std::unique_ptr<wire::Stream> control,
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
  const bool shared = name == kUcxSharedLink;
  const auto lanes = shared                ? ucx::Lanes::kShared
                     : name == kUcxTcpLink ? ucx::Lanes::kTcp
                                           : ucx::Lanes::kVerbs;
  ucx::DirectWish wish;
  if (lanes == ucx::Lanes::kVerbs) {
    wish.devices = options.devices;
    wish.device = options.device;
  }
  auto port = ucx::make_port(lanes, shared ? std::string() : options.ucx_device,
                             server ? ucx::Side::kListens : ucx::Side::kDials, wish);
  if (!port) return fail(port.error());
  return std::make_unique<UcxCandidate>(name, std::move(*port));
#else
  static_cast<void>(options);
  static_cast<void>(server);
  return fail(StatusCode::kUnsupported, name + " is not part of this build, which had no UCX");
#endif
}

// Another candidate, with landings handed over beside it. Both sides may go to the other's doorway;
// who was asked (the server, which joins first) goes to the client's.
class PeerCandidate final : public Candidate {
 public:
  PeerCandidate(std::string name, std::unique_ptr<Candidate> carrier, peer::Doorway doorway,
                const peer::HandoverOptions& options, bool visits)
      : name_(std::move(name)),
        carrier_(std::move(carrier)),
        doorway_(std::move(doorway)),
        options_(options),
        visits_(visits) {}

  wire::LinkOffer offer() const override {
    wire::LinkOffer offer{name_, {static_cast<std::byte>(doorway_.blob().size())}};
    offer.blob.insert(offer.blob.end(), doorway_.blob().begin(), doorway_.blob().end());
    const auto carried = carrier_->offer().blob;
    offer.blob.insert(offer.blob.end(), carried.begin(), carried.end());
    return offer;
  }
  Result<std::unique_ptr<Link>> join(const wire::LinkOffer& peer,
                                     std::unique_ptr<wire::Stream> control,
                                     base::Clock::time_point deadline) override {
    const std::span<const std::byte> blob(peer.blob);
    const auto door_bytes = blob.empty() ? 0 : std::to_integer<std::size_t>(blob[0]);
    if (blob.size() < 1 + door_bytes) {
      return fail(StatusCode::kInvalidInput, "a peer link's offer that is too short");
    }
    auto landings = visits_ ? peer::visit(blob.subspan(1, door_bytes), options_, deadline)
                            : doorway_.exchange(options_, deadline);
    const auto carried = blob.subspan(1 + door_bytes);
    auto link =
        carrier_->join({peer.name, {carried.begin(), carried.end()}}, std::move(control), deadline);
    if (!link) return fail(link.error());
    return peer::make_device_link(std::move(*link), std::move(landings));
  }

 private:
  std::string name_;
  std::unique_ptr<Candidate> carrier_;
  peer::Doorway doorway_;
  peer::HandoverOptions options_;
  bool visits_;
};

Result<std::unique_ptr<Candidate>> make_peer(const std::string& name, const SessionOptions& options,
                                             bool server) {
  if (options.devices == nullptr) {
    return fail(StatusCode::kUnsupported, name + " is for device memory, and no device is given");
  }
  if (options.device < 0 || options.device >= options.devices->count()) {
    return fail(StatusCode::kUnsupported, fmt::format("found device {}; this machine has {}",
                                                      options.device, options.devices->count()));
  }
  auto carrier = name == kPeerLink
                     ? make_ucx(kUcxSharedLink, options, server)
                     : Result<std::unique_ptr<Candidate>>(std::make_unique<StreamCandidate>());
  if (!carrier) return fail(carrier.error());
  auto doorway = peer::Doorway::open();
  if (!doorway) return fail(doorway.error());
  peer::HandoverOptions handover;
  handover.devices = options.devices;
  handover.device = options.device;
  handover.slot_bytes =
      std::max(options.landing_bytes / peer::kLandingSlots, peer::kLeastPartBytes) /
      peer::kSlotStep * peer::kSlotStep;
  return std::make_unique<PeerCandidate>(name, std::move(*carrier), std::move(*doorway), handover,
                                         server);
}

}  // namespace

bool within_host(const std::string& name) {
  return name == kUcxSharedLink || name == kPeerLink || name == kPeerStreamLink;
}

Result<std::vector<std::string>> allowed_links(const SessionOptions& options) {
  if (options.links.empty() && options.devices != nullptr) {
    return std::vector<std::string>{kPeerLink, kPeerStreamLink, kUcxSharedLink, kStreamLink};
  }
  if (options.links.empty()) return std::vector<std::string>{kUcxSharedLink, kStreamLink};
  for (const std::string& name : options.links) {
    if (name == kUcxTcpLink && !options.security.insecure) {
      return fail(StatusCode::kDenied,
                  "ucx-tcp lets anyone who reaches its port write into this process; say insecure "
                  "to accept that, or use stream, which TLS protects");
    }
    if (name != kStreamLink && name != kUcxTcpLink && name != kUcxRdmaLink && !within_host(name)) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("no link is called '{}'; there are {}, {}, {}, {}, {} and {}", name,
                              kStreamLink, kUcxSharedLink, kUcxTcpLink, kUcxRdmaLink, kPeerLink,
                              kPeerStreamLink));
    }
  }
  return options.links;
}

Result<std::unique_ptr<Candidate>> make_candidate(const std::string& name,
                                                  const SessionOptions& options, bool server) {
  if (name == kPeerLink || name == kPeerStreamLink) return make_peer(name, options, server);
  if (name == kStreamLink) return std::make_unique<StreamCandidate>();
  return make_ucx(name, options, server);
}

}  // namespace framewire::transport
