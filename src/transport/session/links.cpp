#include "transport/session/links.hpp"
#include <fmt/format.h>
#include <array>
#include <utility>
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
  auto port = ucx::make_port(lanes, shared ? std::string() : options.ucx_device,
                             server ? ucx::Side::kListens : ucx::Side::kDials);
  if (!port) return fail(port.error());
  return std::make_unique<UcxCandidate>(name, std::move(*port));
#else
  static_cast<void>(options);
  static_cast<void>(server);
  return fail(StatusCode::kUnsupported, name + " is not part of this build, which had no UCX");
#endif
}

}  // namespace

Result<std::vector<std::string>> allowed_links(const SessionOptions& options) {
  if (options.links.empty()) return std::vector<std::string>{kUcxSharedLink, kStreamLink};
  for (const std::string& name : options.links) {
    if (name == kUcxTcpLink && !options.security.insecure) {
      return fail(StatusCode::kDenied,
                  "ucx-tcp lets anyone who reaches its port write into this process; say insecure "
                  "to accept that, or use stream, which TLS protects");
    }
    if (name != kStreamLink && name != kUcxSharedLink && name != kUcxTcpLink &&
        name != kUcxRdmaLink) {
      return fail(StatusCode::kInvalidInput,
                  fmt::format("no link is called '{}'; there are {}, {}, {} and {}", name,
                              kStreamLink, kUcxSharedLink, kUcxTcpLink, kUcxRdmaLink));
    }
  }
  return options.links;
}

Result<std::unique_ptr<Candidate>> make_candidate(const std::string& name,
                                                  const SessionOptions& options, bool server) {
  if (name == kStreamLink) return std::make_unique<StreamCandidate>();
  return make_ucx(name, options, server);
}

}  // namespace framewire::transport
