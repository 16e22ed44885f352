#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <client/lied.hpp>
#include <client/remote_connection.hpp>
#include <ipc/answer.hpp>
#include <limits>
#include <string>
#include <transport/session/session.hpp>
#include <utility>

namespace framewire::client {
namespace {

using base::Clock;
using std::chrono::milliseconds;
using transport::Direction;

/// Besides a request and an answer for each slot: the greeting, cancellations.
constexpr std::uint32_t kOtherTransfers = 64;
constexpr int kSleep_ms = 500;
/// A request waits for as long as its server lets it: its deadline counts from when that takes it.
constexpr std::uint32_t kForEver_ms = 0x7FFFFFFF;

/// Within which a server takes, or sends, what it has begun to: some patience, and what so many
/// bytes take at a very slow connection's speed.
std::uint32_t time_for(std::uint64_t bytes) noexcept {
  constexpr milliseconds kPatience{60'000};
  constexpr milliseconds kMost{3'600'000};
  return static_cast<std::uint32_t>(std::min(kMost, kPatience + slow_time_of(bytes)).count());
}

Status said_by(const ipc::Message& message) {
  auto said = ipc::read_error(message.text);
  return said ? std::move(*said) : lied("its error is damaged").value();
}

}  // namespace

RemoteConnection::RemoteConnection(const ClientOptions& options, bool is_stream,
                                   transport::Channel channel)
    : output_bytes_(std::max<std::uint64_t>(1, options.output_bytes)),
      wanted_slots_(std::min(options.slots, ipc::kMaxRemoteSlots)),
      is_stream_(is_stream),
      channel_(std::move(channel)) {}

Result<std::unique_ptr<RemoteConnection>> RemoteConnection::open(const RemotePlace& place,
                                                                 Clock::time_point deadline,
                                                                 const std::stop_token& stop) {
  transport::SessionOptions session = place.session;
  if (session.links.empty()) session.links = {transport::kStreamLink};
  session.capacity = 2 * std::min(place.options.slots, ipc::kMaxRemoteSlots) + kOtherTransfers;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  session.timeout_ms =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 1, 3'600'000));
  auto joined = transport::session::connect(place.address, session, stop);
  if (!joined) return fail(std::move(joined.error()));
  const bool is_stream = std::ranges::all_of(
      session.links, [](const std::string& link) { return link == transport::kStreamLink; });
  std::unique_ptr<RemoteConnection> made(new RemoteConnection(
      place.options, is_stream,
      transport::make_channel(std::move(joined->link), std::move(joined->config))));
  if (auto greeted = made->greet(deadline, stop); !greeted) return fail(greeted.error());
  return made;
}

Result<void> RemoteConnection::greet(Clock::time_point deadline, const std::stop_token& stop) {
  ipc::MessageHead hello;
  hello.type = ipc::MessageType::kHello;
  hello.slots = wanted_slots_;
  hello.output_bytes = output_bytes_;
  auto message = std::make_shared<ipc::OutgoingMessage>(ipc::make_message(hello, {}, {}));
  if (auto sent = send(std::move(message), std::nullopt); !sent) return sent;
  while (Clock::now() < deadline && !stop.stop_requested()) {
    const auto moved = progress();
    // What the server said before it went is as good as ever.
    const auto received = receive();
    if (!received) return fail(received.error());
    if (!*received) {
      if (!moved) return fail(moved.error());
      if (!*moved) channel_.idle(10);
      continue;
    }
    const ipc::Message& said = (*received)->message;
    if (said.head.type == ipc::MessageType::kEnd) return fail(said_by(said));
    if (said.head.type != ipc::MessageType::kWelcome || said.head.slots > wanted_slots_) {
      return lied("what came first is no welcome");
    }
    welcome_ = said.head;
    return {};
  }
  return fail(StatusCode::kDeadline, "the server has not greeted in time");
}

Result<void> RemoteConnection::send(std::shared_ptr<const ipc::OutgoingMessage> message,
                                    std::optional<Request> request) {
  const std::size_t bytes = message->bytes;
  transport::OfferOptions options;
  options.direction = Direction::kGet;
  options.ttl_ms = kForEver_ms;
  options.work_ms = time_for(sent_bytes_ + bytes);
  const auto region = transport::Region::view(message->all());
  Sent& kept = sent_.emplace_back(Sent{{}, std::move(message), request});
  const auto offered = channel_.offer(region, 0, bytes, options);
  if (!offered) {
    sent_.pop_back();
    return fail(offered.error());
  }
  kept.transfer = *offered;
  sent_bytes_ += bytes;
  return {};
}

/// The cancellation of a request that never was: servers fetch what has no body at once, whatever
/// waits for room, and do nothing. No request has the last number.
Result<void> RemoteConnection::probe() {
  if (is_probing_) return {};
  ipc::MessageHead head;
  head.type = ipc::MessageType::kCancel;
  head.number = std::numeric_limits<std::uint64_t>::max();
  auto message = std::make_shared<ipc::OutgoingMessage>(ipc::make_message(head, {}, {}));
  auto sent = send(std::move(message), std::nullopt);
  if (!sent) return sent.error().code() == StatusCode::kBusy ? Result<void>() : sent;
  sent_.back().is_probe = true;
  is_probing_ = true;
  return {};
}

bool RemoteConnection::take_back(std::uint64_t number) {
  const auto found = std::ranges::find_if(
      sent_, [number](const Sent& sent) { return sent.request && sent.request->number == number; });
  if (found == sent_.end() || channel_.done(found->transfer)) return false;
  if (!channel_.revoke(found->transfer)) return false;
  static_cast<void>(channel_.take_result(found->transfer));
  sent_bytes_ -= found->message->bytes;
  sent_.erase(found);
  return true;
}

bool RemoteConnection::count_while_kept(std::uint64_t number, std::uint64_t bytes) {
  const auto found = std::ranges::find_if(
      sent_, [number](const Sent& sent) { return sent.request && sent.request->number == number; });
  if (found == sent_.end()) return false;
  found->counted_bytes = bytes;
  return true;
}

std::uint64_t RemoteConnection::counted_bytes() const noexcept {
  std::uint64_t bytes = let_go_bytes_;
  for (const Sent& sent : sent_) bytes += sent.counted_bytes;
  return bytes;
}

Result<bool> RemoteConnection::progress() {
  bool moved = channel_.progress();
  if (channel_.lost()) {
    return fail(StatusCode::kPeerLost, "the server is gone: " + channel_.lost()->message());
  }
  const auto dropped = drop_sent();
  if (!dropped) return fail(dropped.error());
  const auto fetched = fetch();
  if (!fetched) return fail(fetched.error());
  // UCX also moves by itself, to see whether the other host is there.
  is_alive_ = is_alive_ || *dropped || *fetched || (moved && is_stream_);
  return moved || *dropped || *fetched;
}

Result<bool> RemoteConnection::drop_sent() {
  bool moved = false;
  for (auto place = sent_.begin(); place != sent_.end();) {
    const auto sent = place++;
    if (!channel_.done(sent->transfer)) continue;
    moved = true;
    const auto taken = channel_.take_result(sent->transfer);
    if (!taken) {
      return fail(StatusCode::kPeerLost,
                  "the server does not take what it is sent: " + taken.error().message());
    }
    sent_bytes_ -= sent->message->bytes;
    if (sent->request) fetched_bytes_ += sent->message->bytes;
    if (sent->is_probe) is_probing_ = false;
    let_go_bytes_ += sent->counted_bytes;
    sent_.erase(sent);
  }
  return moved;
}

tl::unexpected<Status> RemoteConnection::lied(std::string what) {
  server_lied_ = true;
  return client::lied(std::move(what));
}

std::uint64_t RemoteConnection::moving_bytes() {
  std::uint64_t bytes = 0;
  for (const Sent& sent : sent_) {
    if (sent.request && channel_.moving(sent.transfer)) bytes += sent.message->bytes;
  }
  return bytes;
}

std::vector<RemoteConnection::Request> RemoteConnection::unfetched() {
  std::vector<Request> unfetched;
  unfetched.reserve(sent_.size());
  for (const Sent& sent : sent_) {
    if (sent.request && !channel_.take_result(sent.transfer)) unfetched.push_back(*sent.request);
  }
  return unfetched;
}

/// No more at a time than the client has memory for, and at least one.
Result<bool> RemoteConnection::fetch() {
  const std::uint64_t most = ipc::message_bytes(ipc::kMaxMessageTextBytes, output_bytes_);
  bool moved = false;
  while (true) {
    if (!lease_) {
      auto lease = channel_.take_lease(Direction::kGet);
      if (!lease) return moved;
      lease_ = *lease;
    }
    const std::uint64_t bytes = lease_->length_bytes;
    if (bytes < ipc::kMessageHeadBytes || bytes > most) {
      return lied(fmt::format("a message of {} bytes; accepted: {} to {}", bytes,
                              ipc::kMessageHeadBytes, most));
    }
    if (!fetches_.empty() && fetching_bytes_ + bytes > output_bytes_) return moved;
    const auto size = static_cast<std::size_t>(bytes);
    transport::TransferOptions options;
    options.deadline_ms = time_for(fetching_bytes_ + bytes);
    Fetch& kept = fetches_.emplace_back();
    kept.memory.reset(new std::uint8_t[size]);
    kept.bytes = size;
    const auto region =
        transport::Region::view(std::as_writable_bytes(std::span(kept.memory.get(), size)));
    const auto begun = channel_.get(*lease_, region, 0, bytes, options);
    if (!begun) {
      fetches_.pop_back();
      if (begun.error().code() == StatusCode::kBusy) return moved;
      return fail(StatusCode::kPeerLost, begun.error().message());
    }
    kept.transfer = *begun;
    fetching_bytes_ += bytes;
    lease_.reset();
    moved = true;
  }
}

Result<std::optional<RemoteConnection::Received>> RemoteConnection::receive() {
  const auto found = std::ranges::find_if(
      fetches_, [this](const Fetch& fetch) { return channel_.done(fetch.transfer); });
  if (found == fetches_.end()) return std::nullopt;
  const auto taken = channel_.take_result(found->transfer);
  if (!taken) {
    return fail(StatusCode::kPeerLost,
                "the server does not send what it has offered: " + taken.error().message());
  }
  is_alive_ = true;
  const std::shared_ptr<std::uint8_t[]> memory = std::move(found->memory);
  const std::size_t bytes = found->bytes;
  fetches_.erase(found);
  fetching_bytes_ -= bytes;
  const auto message = ipc::read_message(std::as_bytes(std::span(memory.get(), bytes)));
  if (!message) return lied(message.error().message());
  return Received{*message, memory};
}

void RemoteConnection::idle(int wake_fd) { channel_.idle(kSleep_ms, wake_fd); }

}  // namespace framewire::client
