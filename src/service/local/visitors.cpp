#include <fmt/format.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <service/local/visitors.hpp>
#include <utility>

namespace framewire::service::local {

bool Visitors::accept(int listening) {
  // Not all of a crowd at once: greetings of those who came before are read in between.
  constexpr int kAtOnce = 16;
  for (int i = 0; i < kAtOnce; ++i) {
    Visitor visitor;
    visitor.socket =
        base::FileDescriptor(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor.socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(visitor.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) continue;
    visitor.pid = peer.pid;
    visitor.uid = peer.uid;
    visitor.deadline = base::Clock::now() + time_;
    if (hear(visitor)) continue;
    if (silent_.size() == kMaxSilent) {
      Visitor oldest = std::move(silent_.front());
      silent_.erase(silent_.begin());
      greeted_(std::move(oldest),
               fail(StatusCode::kBusy, "too many have connected and not greeted"));
    }
    silent_.push_back(std::move(visitor));
  }
  return true;
}

void Visitors::add_to(std::vector<pollfd>& files) const {
  for (const Visitor& visitor : silent_) files.push_back({visitor.socket.get(), POLLIN, 0});
}

void Visitors::look() {
  const auto now = base::Clock::now();
  std::vector<Visitor> left;
  left.reserve(silent_.size());
  std::vector<Visitor> all = std::exchange(silent_, {});
  for (Visitor& visitor : all) {
    if (hear(visitor)) continue;
    if (visitor.deadline <= now) {
      greeted_(std::move(visitor), fail(StatusCode::kDeadline, "no greeting came in time"));
    } else {
      left.push_back(std::move(visitor));
    }
  }
  silent_ = std::move(left);
}

int Visitors::wait_ms() const {
  if (silent_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(silent_.front().deadline - base::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000));
}

bool Visitors::hear(Visitor& visitor) {
  // Descriptors do not come along (base::refuse_files()). Where the system is too old to refuse
  // them it closes them here, since there is no room for them, which may take long.
  ipc::Hello hello;
  const auto count = ::recv(visitor.socket.get(), &hello, sizeof hello, MSG_DONTWAIT | MSG_TRUNC);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  if (count <= 0) {
    greeted_(std::move(visitor), fail(StatusCode::kPeerLost, "left without a greeting"));
  } else if (count != sizeof hello) {
    greeted_(std::move(visitor),
             fail(StatusCode::kInvalidInput,
                  fmt::format("found a greeting of {} bytes; accepted: {}", count, sizeof hello)));
  } else if (auto good = ipc::check(hello); !good) {
    greeted_(std::move(visitor), fail(good.error()));
  } else {
    greeted_(std::move(visitor), hello);
  }
  return true;
}

}  // namespace framewire::service::local
