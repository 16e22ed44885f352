#include <fmt/format.h>
#include <algorithm>
#include <base/random.hpp>
#include <optional>
#include <transport/peer/device_link.hpp>
#include <transport/session/greeting.hpp>
#include <transport/session/links.hpp>
#include <transport/session/meeting.hpp>
#include <transport/wire/control.hpp>
#include <utility>

namespace framewire::transport::session {
namespace {

using base::Clock;
using wire::FrameType;
using wire::Greeting;
using LinkCandidates = std::vector<std::unique_ptr<Candidate>>;

Greeting introduce(const SessionOptions& options) {
  Greeting greeting;
  greeting.capacity = options.capacity;
  return greeting;
}

ChannelConfig agree(const wire::ByteStream& stream, std::uint32_t epoch, const Greeting& ours,
                    const Greeting& theirs) {
  ChannelConfig config;
  config.epoch = epoch;
  config.capacity = ours.capacity;
  config.peer_capacity = theirs.capacity;
  config.peer = stream.peer();
  return config;
}

// What this side has found out of the other on the way to a link.
struct GreetingState {
  std::unique_ptr<wire::ByteStream> control;
  std::optional<shared::LocalPeer> local;  ///< where both have met
  Clock::time_point deadline;
};

Result<Joined> join(GreetingState session, Candidate& candidate, const wire::LinkOffer& offer,
                    ChannelConfig config, Requirement require) {
  const shared::LocalPeer* const local = session.local ? &*session.local : nullptr;
  auto link = candidate.join(offer, local, std::move(session.control), session.deadline);
  if (!link) return fail(link.error());
  if (!(*link)->takes(MemoryKind::kCuda)) *link = peer::make_device_link(std::move(*link));
  if (auto good = check_path((*link)->path(), require); !good) return fail(good.error());
  return Joined{std::move(*link), std::move(config)};
}

tl::unexpected<Status> out_of_turn() {
  return fail(StatusCode::kInvalidInput, "the peer's greeting comes out of turn");
}

Result<wire::Frame> read(GreetingState& session) {
  auto frame = wire::read_frame(*session.control, session.deadline);
  if (frame && frame->type == FrameType::kRefuse) return fail(wire::decode_refusal(frame->body));
  return frame;
}

Result<void> write(GreetingState& session, FrameType type, std::span<const std::byte> body) {
  return wire::write_frame(*session.control, type, body, session.deadline);
}

std::optional<wire::LinkOffer> find(const Greeting& greeting, const std::string& name) {
  const auto found = std::find_if(greeting.links.begin(), greeting.links.end(),
                                  [&](const auto& link) { return link.name == name; });
  if (found == greeting.links.end()) return std::nullopt;
  return *found;
}

// What this side can do; a link that does not start here is no candidate, unless it is the only
// one.
Result<LinkCandidates> prepare(Greeting& greeting, const SessionOptions& options) {
  LinkCandidates candidates;
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

bool any_within_host(const Greeting& greeting) {
  return std::any_of(greeting.links.begin(), greeting.links.end(),
                     [](const auto& link) { return within_host(link.name); });
}

// The server's side of proving that both are processes of one user on one machine. That they are
// not, or that the client has not come, is no error.
Result<void> invite(GreetingState& session) {
  auto point = MeetingPoint::open();
  if (!point) return {};
  if (auto sent = write(session, FrameType::kMeet, encode(point->rendezvous())); !sent) return sent;
  auto local = point->await(*session.control, session.deadline);
  const auto frame = read(session);
  if (!frame) return fail(frame.error());
  if (frame->type != FrameType::kMet) return out_of_turn();
  const auto met = wire::decode_met(frame->body);
  if (!met) return fail(met.error());
  // The client's claim to have met us counts only if we have met it, too.
  if (*met && local) session.local = std::move(local);
  return {};
}

// The client's side of the meeting.
Result<void> attend_meeting(GreetingState& session, std::span<const std::byte> invitation) {
  const auto rendezvous = wire::decode_rendezvous(invitation);
  if (!rendezvous) return fail(rendezvous.error());
  if (auto local = meet(*rendezvous, session.deadline)) session.local = std::move(*local);
  return write(session, FrameType::kMet, wire::encode_met(session.local.has_value()));
}

// The best link that both can do. A link within the host is chosen only after a meeting.
Result<std::unique_ptr<Candidate>> choose(GreetingState& session, const SessionOptions& options,
                                          const Greeting& theirs) {
  Status reason(StatusCode::kUnsupported, "no link is common to both ends");
  const auto names = allowed_links(options);
  if (!names) return fail(names.error());
  bool invited = false;
  for (const std::string& name : *names) {
    if (!find(theirs, name)) continue;
    if (within_host(name) && !std::exchange(invited, true)) {
      if (auto ok = invite(session); !ok) return fail(ok.error());
    }
    if (within_host(name) && !session.local) {
      reason = Status(StatusCode::kUnsupported,
                      name +
                          " is for processes of one user on one machine, which the two ends "
                          "have not proved to be");
      continue;
    }
    auto candidate = make_candidate(name, options, true);
    if (candidate) return candidate;
    reason = candidate.error();
  }
  return fail(std::move(reason));
}

}  // namespace

Result<Joined> greet_as_client(std::unique_ptr<wire::ByteStream> stream,
                               const SessionOptions& options, Clock::time_point deadline) {
  GreetingState session{std::move(stream), std::nullopt, deadline};
  Greeting hello = introduce(options);
  auto candidates = prepare(hello, options);
  if (!candidates) return fail(candidates.error());
  if (auto sent = write(session, FrameType::kHello, encode(hello)); !sent) {
    return fail(sent.error());
  }
  auto frame = read(session);
  if (frame && frame->type == FrameType::kMeet && any_within_host(hello)) {
    if (auto ok = attend_meeting(session, frame->body); !ok) return fail(ok.error());
    frame = read(session);
  }
  if (!frame) return fail(frame.error());
  if (frame->type != FrameType::kWelcome) return out_of_turn();
  const auto welcome = wire::decode_greeting(frame->body);
  if (!welcome) return fail(welcome.error());
  for (auto& candidate : *candidates) {
    if (welcome->links.size() != 1 || welcome->links[0].name != candidate->offer().name) continue;
    if (within_host(welcome->links[0].name) && !session.local) {
      return fail(StatusCode::kDenied,
                  fmt::format("the server chose {}, and has not proved to be a process of this "
                              "user on this machine",
                              welcome->links[0].name));
    }
    auto config = agree(*session.control, welcome->epoch, hello, *welcome);
    return join(std::move(session), *candidate, welcome->links[0], std::move(config),
                options.require);
  }
  return fail(StatusCode::kInvalidInput, "the peer chose a link that was not offered");
}

Result<Joined> greet_as_server(std::unique_ptr<wire::ByteStream> stream,
                               const SessionOptions& options, Clock::time_point deadline) {
  GreetingState session{std::move(stream), std::nullopt, deadline};
  const auto frame = read(session);
  if (!frame) return fail(frame.error());
  if (frame->type != FrameType::kHello) return out_of_turn();
  const auto hello = wire::decode_greeting(frame->body);
  if (!hello) return fail(hello.error());
  Greeting welcome = introduce(options);
  auto candidate = choose(session, options, *hello);
  if (!candidate) {
    const auto body = wire::encode_refusal(candidate.error());
    static_cast<void>(write(session, FrameType::kRefuse, body));
    return fail(candidate.error());
  }
  const auto epoch = base::random_number<std::uint32_t>();
  if (!epoch) return fail(epoch.error());
  welcome.epoch = *epoch;
  welcome.links.push_back((*candidate)->offer());
  if (auto sent = write(session, FrameType::kWelcome, encode(welcome)); !sent) {
    return fail(sent.error());
  }
  const auto offer = *find(*hello, welcome.links[0].name);
  auto config = agree(*session.control, welcome.epoch, welcome, *hello);
  return join(std::move(session), **candidate, offer, std::move(config), options.require);
}

}  // namespace framewire::transport::session
