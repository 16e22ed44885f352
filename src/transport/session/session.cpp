#include "transport/session/session.hpp"
#include <fmt/format.h>
#include <sys/random.h>
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include "transport/peer/device_link.hpp"
#include "transport/session/host_id.hpp"
#include "transport/session/links.hpp"
#include "transport/wire/control.hpp"

namespace framewire::transport::session {
namespace {

using base::Clock;
using wire::FrameType;
using wire::Greeting;
using Candidates = std::vector<std::unique_ptr<Candidate>>;

Clock::time_point after(std::uint32_t ms) { return Clock::now() + std::chrono::milliseconds(ms); }

Result<std::optional<wire::TlsContext>> make_context(const SessionOptions& options, bool server) {
  if (options.capacity == 0 || options.capacity > wire::kMaxCapacity) {
    return fail(StatusCode::kInvalidInput,
                fmt::format("a capacity of {}; 1 to {}", options.capacity, wire::kMaxCapacity));
  }
  if (auto names = allowed_links(options); !names) return fail(names.error());
  if (auto good = wire::check(options.security); !good) return fail(good.error());
  if (options.security.insecure) return std::nullopt;
  auto context = wire::TlsContext::make(options.security, server);
  if (!context) return fail(context.error());
  return std::optional<wire::TlsContext>(std::move(*context));
}

Result<std::unique_ptr<wire::Stream>> secure(const std::optional<wire::TlsContext>& context,
                                             wire::Socket socket, const std::string& host,
                                             Clock::time_point deadline) {
  if (!context) return wire::make_plain_stream(std::move(socket));
  return context->shake_hands(std::move(socket), host, deadline);
}

Greeting introduce(const SessionOptions& options) {
  Greeting greeting;
  greeting.capacity = options.capacity;
  greeting.host = host_id();
  return greeting;
}

ChannelConfig agree(const wire::Stream& stream, std::uint32_t epoch, const Greeting& ours,
                    const Greeting& theirs) {
  ChannelConfig config;
  config.epoch = epoch;
  config.capacity = ours.capacity;
  config.peer_capacity = theirs.capacity;
  config.peer = stream.peer();
  return config;
}

Result<Joined> join(Candidate& candidate, const wire::LinkOffer& offer, ChannelConfig config,
                    Requirement require, std::unique_ptr<wire::Stream> control,
                    Clock::time_point deadline) {
  auto link = candidate.join(offer, std::move(control), deadline);
  if (!link) return fail(link.error());
  if (!(*link)->takes(MemoryKind::kCuda)) *link = peer::make_device_link(std::move(*link));
  if (auto good = check_path((*link)->path(), require); !good) return fail(good.error());
  return Joined{std::move(*link), std::move(config)};
}

Result<Greeting> expect(wire::Stream& stream, FrameType type, Clock::time_point deadline) {
  const auto frame = wire::read_frame(stream, deadline);
  if (!frame) return fail(frame.error());
  if (frame->type == FrameType::kRefuse) return fail(wire::decode_refusal(frame->body));
  if (frame->type != type) {
    return fail(StatusCode::kInvalidInput, "the peer's greeting comes out of turn");
  }
  return wire::decode_greeting(frame->body);
}

std::optional<wire::LinkOffer> find(const Greeting& greeting, const std::string& name) {
  const auto found = std::find_if(greeting.links.begin(), greeting.links.end(),
                                  [&](const auto& link) { return link.name == name; });
  if (found == greeting.links.end()) return std::nullopt;
  return *found;
}

// What this side can do; a link that does not start here is no candidate, unless it is the only
// one.
Result<Candidates> prepare(Greeting& greeting, const SessionOptions& options) {
  Candidates candidates;
  std::optional<Status> reason;
  const auto names = allowed_links(options);
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    auto candidate = make_candidate(name, options, false);
    if (!candidate) {
      reason = candidate.error();
      continue;
    }
    greeting.links.push_back((*candidate)->offer());
    candidates.push_back(std::move(*candidate));
  }
  if (candidates.empty()) return fail(*reason);
  return candidates;
}

}  // namespace

Result<Joined> connect(const std::string& address, const SessionOptions& options) {
  const auto deadline = after(options.timeout_ms);
  const auto where = wire::parse_address(address);
  if (!where) return fail(where.error());
  const auto context = make_context(options, false);
  if (!context) return fail(context.error());
  auto socket = wire::connect_to(*where, deadline);
  if (!socket) return fail(socket.error());
  auto stream = secure(*context, std::move(*socket), where->host, deadline);
  if (!stream) return fail(stream.error());

  Greeting hello = introduce(options);
  auto candidates = prepare(hello, options);
  if (!candidates) return fail(candidates.error());
  const auto body = encode(hello);
  if (auto sent = wire::write_frame(**stream, FrameType::kHello, body, deadline); !sent) {
    return fail(sent.error());
  }
  const auto welcome = expect(**stream, FrameType::kWelcome, deadline);
  if (!welcome) return fail(welcome.error());
  for (auto& candidate : *candidates) {
    if (welcome->links.size() != 1 || welcome->links[0].name != candidate->offer().name) continue;
    auto config = agree(**stream, welcome->epoch, hello, *welcome);
    return join(*candidate, welcome->links[0], std::move(config), options.require,
                std::move(*stream), deadline);
  }
  return fail(StatusCode::kInvalidInput, "the peer chose a link that was not offered");
}

class Listener::Impl {
 public:
  SessionOptions options;
  std::optional<wire::TlsContext> context;
  wire::Socket socket;

  [[nodiscard]] Result<Joined> greet(std::unique_ptr<wire::Stream> stream,
                                     Clock::time_point deadline) const;
  [[nodiscard]] Result<std::unique_ptr<Candidate>> choose(const Greeting& ours,
                                                          const Greeting& theirs) const;
};

Result<std::unique_ptr<Candidate>> Listener::Impl::choose(const Greeting& ours,
                                                          const Greeting& theirs) const {
  Status reason(StatusCode::kUnsupported, "no link is common to both ends");
  const auto names = allowed_links(options);
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    if (!find(theirs, name) || (within_host(name) && ours.host != theirs.host)) continue;
    auto candidate = make_candidate(name, options, true);
    if (candidate) return candidate;
    reason = candidate.error();
  }
  return fail(std::move(reason));
}

Result<Joined> Listener::Impl::greet(std::unique_ptr<wire::Stream> stream,
                                     Clock::time_point deadline) const {
  const auto hello = expect(*stream, FrameType::kHello, deadline);
  if (!hello) return fail(hello.error());
  Greeting welcome = introduce(options);
  auto candidate = choose(welcome, *hello);
  if (!candidate) {
    const auto body = wire::encode_refusal(candidate.error());
    static_cast<void>(wire::write_frame(*stream, FrameType::kRefuse, body, deadline));
    return fail(candidate.error());
  }
  while (welcome.epoch == 0) {
    if (getrandom(&welcome.epoch, sizeof welcome.epoch, 0) < 0) {
      return fail(StatusCode::kBusy, "the system has no random bytes for an epoch");
    }
  }
  welcome.links.push_back((*candidate)->offer());
  const auto body = encode(welcome);
  if (auto sent = wire::write_frame(*stream, FrameType::kWelcome, body, deadline); !sent) {
    return fail(sent.error());
  }
  const auto offer = *find(*hello, welcome.links[0].name);
  auto config = agree(*stream, welcome.epoch, welcome, *hello);
  return join(**candidate, offer, std::move(config), options.require, std::move(stream), deadline);
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;

Result<Listener> Listener::listen(const std::string& address, const SessionOptions& options) {
  const auto where = wire::parse_address(address);
  if (!where) return fail(where.error());
  auto context = make_context(options, true);
  if (!context) return fail(context.error());
  auto socket = wire::listen_on(*where);
  if (!socket) return fail(socket.error());
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->context = std::move(*context);
  impl->socket = std::move(*socket);
  return Listener(std::move(impl));
}

std::uint16_t Listener::port() const { return wire::port_of(impl_->socket); }

Result<Joined> Listener::accept(std::uint32_t wait_ms) {
  auto socket = wire::accept_on(impl_->socket, after(wait_ms));
  if (!socket) return fail(socket.error());
  const auto deadline = after(impl_->options.timeout_ms);
  auto stream = secure(impl_->context, std::move(*socket), "", deadline);
  if (!stream) return fail(stream.error());
  return impl_->greet(std::move(*stream), deadline);
}

}  // namespace framewire::transport::session
