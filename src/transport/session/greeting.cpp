#include "transport/session/greeting.hpp"
#include <sys/random.h>
#include <algorithm>
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

Result<std::unique_ptr<Candidate>> choose(const SessionOptions& options, const Greeting& ours,
                                          const Greeting& theirs) {
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

}  // namespace

Result<Joined> greet_as_client(std::unique_ptr<wire::Stream> stream, const SessionOptions& options,
                               Clock::time_point deadline) {
  Greeting hello = introduce(options);
  auto candidates = prepare(hello, options);
  if (!candidates) return fail(candidates.error());
  const auto body = encode(hello);
  if (auto sent = wire::write_frame(*stream, FrameType::kHello, body, deadline); !sent) {
    return fail(sent.error());
  }
  const auto welcome = expect(*stream, FrameType::kWelcome, deadline);
  if (!welcome) return fail(welcome.error());
  for (auto& candidate : *candidates) {
    if (welcome->links.size() != 1 || welcome->links[0].name != candidate->offer().name) continue;
    auto config = agree(*stream, welcome->epoch, hello, *welcome);
    return join(*candidate, welcome->links[0], std::move(config), options.require,
                std::move(stream), deadline);
  }
  return fail(StatusCode::kInvalidInput, "the peer chose a link that was not offered");
}

Result<Joined> greet_as_server(std::unique_ptr<wire::Stream> stream, const SessionOptions& options,
                               Clock::time_point deadline) {
  const auto hello = expect(*stream, FrameType::kHello, deadline);
  if (!hello) return fail(hello.error());
  Greeting welcome = introduce(options);
  auto candidate = choose(options, welcome, *hello);
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

}  // namespace framewire::transport::session
