#include <fmt/format.h>
#include <poll.h>
#include <algorithm>
#include <base/errno_code.hpp>
#include <base/file_descriptor.hpp>
#include <base/passed_files.hpp>
#include <base/random.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <transport/session/meeting.hpp>
#include <utility>

namespace framewire::transport::session {
namespace {

using base::FileDescriptor;
using std::chrono::milliseconds;
using Token = std::array<std::byte, 16>;

// Processes of our user that are connected and silent; one more displaces the oldest of them. The
// client shows its token as soon as it is connected.
constexpr std::size_t kMaxUnproven = 32;
constexpr int kBacklog = 128;
constexpr milliseconds kClientPatience(1000);

FileDescriptor local_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

tl::unexpected<Status> not_met(const char* why) { return fail(StatusCode::kUnsupported, why); }

}  // namespace

LocalName name_of(const wire::Rendezvous& rendezvous) {
  std::string text = "framewire-";
  for (const std::byte byte : rendezvous.place) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  LocalName name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Result<MeetingPoint> MeetingPoint::open() {
  MeetingPoint point;
  wire::Rendezvous& bits = point.rendezvous_;
  for (auto* const secret : {&bits.place, &bits.client_token, &bits.server_token}) {
    if (auto random = base::fill_random(*secret); !random) return fail(random.error());
  }
  const auto no_socket = [] {
    const int error = errno;
    return fail(base::code_of_errno(error), "no Unix socket can be had");
  };
  point.listener_ = local_socket();
  if (!point.listener_.valid()) return no_socket();
  const LocalName name = name_of(bits);
  base::refuse_files(point.listener_.get());
  if (::bind(point.listener_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) !=
          0 ||
      ::listen(point.listener_.get(), kBacklog) != 0) {
    return no_socket();
  }
  return point;
}

std::optional<shared::LocalPeer> MeetingPoint::await(const wire::ByteStream& control,
                                                     base::Clock::time_point deadline) {
  std::vector<pollfd> items;
  while (base::Clock::now() < deadline && !control.buffered()) {
    items.assign({{listener_.get(), POLLIN, 0}, {control.fd(), POLLIN, 0}});
    for (const shared::LocalPeer& peer : unproven_) items.push_back({peer.fd(), POLLIN, 0});
    const auto left = std::chrono::ceil<milliseconds>(deadline - base::Clock::now()).count();
    const auto ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    if (::poll(items.data(), items.size(), ms) < 0 && errno != EINTR) break;
    // A bounded number at a time, so that a crowd does not keep us from the clock.
    for (int i = 0; i < kBacklog && accept_one(); ++i) {
      if (auto client = check_tokens()) return client;
    }
    if (auto client = check_tokens()) return client;
    if (items[1].revents != 0) break;
  }
  return std::nullopt;
}

bool MeetingPoint::accept_one() {
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return errno == ECONNABORTED || errno == EINTR;
  if (!shared::is_same_user(socket)) return true;
  if (unproven_.size() == kMaxUnproven) unproven_.erase(unproven_.begin());
  unproven_.emplace_back(std::move(socket));
  return true;
}

// Finds the one that shows the client's token, and closes those that show something else.
std::optional<shared::LocalPeer> MeetingPoint::check_tokens() {
  for (std::size_t i = 0; i < unproven_.size();) {
    Token shown;
    const auto message = unproven_[i].receive_now(shown);
    if (message && !*message) {
      ++i;
      continue;
    }
    shared::LocalPeer peer = std::move(unproven_[i]);
    unproven_.erase(unproven_.begin() + static_cast<std::ptrdiff_t>(i));
    if (message && shared::equal_secrets(shown, rendezvous_.client_token)) {
      base::accept_files(peer.fd());  // before the client is told that it may send some
      if (peer.send(rendezvous_.server_token)) return peer;
    }
  }
  return std::nullopt;
}

Result<shared::LocalPeer> meet(const wire::Rendezvous& rendezvous,
                               base::Clock::time_point deadline) {
  deadline = std::min(deadline, base::Clock::now() + kClientPatience);
  const LocalName name = name_of(rendezvous);
  FileDescriptor socket = local_socket();
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) !=
         0) {
    // EAGAIN: the server's backlog is full for the moment.
    if (errno != EAGAIN && errno != EINTR) {
      return not_met("the server's meeting place is not on this machine");
    }
    if (base::Clock::now() >= deadline) return not_met("nobody opens at the meeting place");
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (!shared::is_same_user(socket)) {
    return not_met("somebody else's process is at the meeting place");
  }
  shared::LocalPeer peer(std::move(socket));
  Token shown;
  if (!peer.send(rendezvous.client_token) || !peer.receive(shown, deadline) ||
      !shared::equal_secrets(shown, rendezvous.server_token)) {
    return not_met("who is at the meeting place does not know what the server said");
  }
  return peer;
}

}  // namespace framewire::transport::session
