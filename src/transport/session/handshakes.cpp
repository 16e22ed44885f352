#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <base/file_descriptor.hpp>
#include <base/start_thread.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <transport/session/handshakes.hpp>
#include <transport/wire/control.hpp>
#include <transport/wire/socket.hpp>
#include <utility>

namespace framewire::transport::session {
namespace {

using base::Clock;
using std::chrono::milliseconds;

// What an epoll event is about: one of these, or a caller's number.
constexpr std::uint64_t kPort = 0;
constexpr std::uint64_t kWake = 1;
constexpr std::uint64_t kFirstNumber = 2;

// Clients accepted at a time: those that have sent something get their turn in between.
constexpr int kAdmittedAtOnce = 32;
// How long nobody is accepted where descriptors or memory have run out.
constexpr milliseconds kPause{100};
// How soon it is tried again to begin a greeting for which there was no thread.
constexpr int kLookAgain_ms = 50;

bool watch(int events, int fd, std::uint32_t kinds, std::uint64_t what, int how = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = kinds;
  event.data.u64 = what;
  return ::epoll_ctl(events, how, fd, &event) == 0;
}

enum class Received { kNothing, kBytes, kEnd };

// Looks at what a socket has received, and leaves it there.
Received peek(int fd) {
  char byte = 0;
  const auto count = ::recv(fd, &byte, 1, MSG_PEEK);
  if (count > 0) return Received::kBytes;
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? Received::kNothing : Received::kEnd;
}

// Whether the whole first message is there, so that it can be read without waiting. It always fits
// into the socket's receive buffer.
Result<bool> first_message_is_there(int fd) {
  std::array<std::byte, wire::kFrameHeadBytes> bytes;
  const auto count = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
    return fail(StatusCode::kPeerLost, "the peer hung up before its greeting");
  }
  if (count < static_cast<ssize_t>(bytes.size())) return false;
  const auto head = wire::decode_frame_head(bytes);
  if (!head) return fail(head.error());
  int waiting = 0;
  if (::ioctl(fd, FIONREAD, &waiting) != 0) return false;
  return static_cast<std::size_t>(waiting) >= bytes.size() + head->body_bytes;
}

}  // namespace

struct Handshakes::Caller {
  std::string origin;
  Clock::time_point deadline;
  Clock::time_point first_byte_by;
  base::FileDescriptor socket{};  ///< until it goes to the handshake or the stream
  bool has_sent = false;          ///< at least a byte
  std::optional<wire::TlsHandshake> handshake{};
  std::unique_ptr<wire::ByteStream> stream{};  ///< ready to be greeted

  [[nodiscard]] int fd() const { return handshake ? handshake->fd() : socket.get(); }
};

Handshakes::Handshakes(const SessionOptions& options, std::optional<wire::TlsContext> context,
                       base::FileDescriptor port)
    : options_(options),
      context_(std::move(context)),
      port_(std::move(port)),
      next_number_(kFirstNumber) {
  greetings_.emplace(options_, [this](Greetings::Ended one) { note(std::move(one)); });
}

Result<std::unique_ptr<Handshakes>> Handshakes::start(const SessionOptions& options,
                                                      std::optional<wire::TlsContext> context,
                                                      base::FileDescriptor port) {
  std::unique_ptr<Handshakes> made(new Handshakes(options, std::move(context), std::move(port)));
  if (auto opened = made->open(); !opened) return fail(opened.error());
  return made;
}

Result<void> Handshakes::open() {
  events_ = base::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = base::FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events_.valid() || !wake_.valid() || !watch(events_.get(), port_.get(), EPOLLIN, kPort) ||
      !watch(events_.get(), wake_.get(), EPOLLIN, kWake)) {
    return fail(StatusCode::kBusy, fmt::format("nothing to listen with: {}", std::strerror(errno)));
  }
  auto started = base::start_thread("fw-listen", [this] { run(); });
  if (!started) return fail(std::move(started.error()));
  thread_ = std::move(*started);
  return {};
}

Handshakes::~Handshakes() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) {
    wake();
    thread_.join();
  }
  greetings_.reset();
}

void Handshakes::wake() const noexcept {
  const std::uint64_t one = 1;
  // Fails only where it has been woken often enough.
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void Handshakes::note(Greetings::Ended one) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (one.front()) {
      finished_.splice(finished_.end(), one);
    } else {
      failures_.add(std::move(one.front().error()), Clock::now());
    }
  }
  news_.notify_one();
  wake();
}

Result<Joined> Handshakes::take(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  news_.wait_until(lock, deadline, [&] { return !finished_.empty() || !failures_.empty(); });
  if (!finished_.empty()) {
    Result<Joined> joined = std::move(finished_.front());
    finished_.pop_front();
    lock.unlock();
    wake();  // there is room for the next
    return joined;
  }
  if (auto failure = failures_.take()) return fail(std::move(*failure));
  return fail(StatusCode::kDeadline, "nobody connected in time");
}

void Handshakes::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    try {
      step();
    } catch (const std::exception&) {
      // Only std::bad_alloc comes here, of a new caller or a handshake: one caller fewer may help.
      // One that could not be greeted for want of memory or a thread stays, and is tried again.
      if (!callers_.empty()) drop(callers_.begin(), std::nullopt);
    }
  }
}

void Handshakes::step() {
  std::array<epoll_event, 64> ready;
  const int count =
      ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), patience_ms());
  bool somebody_came = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t what = ready[static_cast<std::size_t>(i)].data.u64;
    if (what == kPort) {
      somebody_came = true;
    } else if (what == kWake) {
      std::uint64_t times = 0;
      static_cast<void>(!::read(wake_.get(), &times, sizeof times));
    } else if (const auto caller = callers_.find(what); caller != callers_.end()) {
      advance(caller);
    }
  }
  greetings_->reap();
  hand_over();
  expire();
  listen_again();
  if (somebody_came) admit();
}

void Handshakes::admit() {
  for (int i = 0; i < kAdmittedAtOnce; ++i) {
    auto next = wire::accept_next(port_);
    if (!next) {
      // The oldest caller makes room, as it does where all places are taken.
      if (next.error().code() == StatusCode::kBusy && !callers_.empty()) {
        drop(callers_.begin(), std::nullopt);
        continue;
      }
      {
        const std::lock_guard lock(mutex_);
        failures_.add(std::move(next.error()), Clock::now());
      }
      news_.notify_one();
      watch(events_.get(), port_.get(), 0, kPort, EPOLL_CTL_MOD);
      paused_until_ = Clock::now() + kPause;
      return;
    }
    if (!*next) return;
    wire::Caller& come = **next;
    const auto oldest = callers_.find(crowd_.displaced_by(come.origin).value_or(kPort));
    if (oldest != callers_.end()) drop(oldest, std::nullopt);
    const auto now = Clock::now();
    const std::uint64_t number = next_number_++;
    Caller made{std::move(come.origin), now + milliseconds(options_.timeout_ms), now + kFirstByte,
                std::move(come.socket)};
    const auto caller = callers_.emplace(number, std::move(made)).first;
    crowd_.add(number, caller->second.origin);
    constexpr std::uint32_t kKinds = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    if (!watch(events_.get(), caller->second.fd(), kKinds, number)) {
      drop(caller, std::nullopt);
    } else {
      advance(caller);  // most have spoken by now, and no event is needed to know it
    }
  }
}

void Handshakes::advance(Callers::iterator caller) {
  auto done = try_to_advance(caller->second);
  if (!done) {
    // A client that came and left without a byte has not failed at anything.
    std::optional<Status> why;
    if (caller->second.has_sent) why = std::move(done.error());
    drop(caller, std::move(why));
  } else if (*done) {
    hand_over();
  }
}

// @return whether it can be greeted now
Result<bool> Handshakes::try_to_advance(Caller& caller) {
  if (caller.stream) return true;
  if (!caller.has_sent) {
    const Received received = peek(caller.socket.get());
    if (received == Received::kNothing) return false;
    if (received == Received::kEnd) return fail(StatusCode::kPeerLost, "the peer hung up");
    caller.has_sent = true;
  }
  if (!context_) {
    const auto whole = first_message_is_there(caller.socket.get());
    if (!whole || !*whole) return whole;
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, caller.socket.get(), nullptr);
    caller.stream = wire::make_plain_stream(std::move(caller.socket));
    return true;
  }
  if (!caller.handshake) {
    auto begun = context_->begin(std::move(caller.socket), "");
    if (!begun) return fail(begun.error());
    caller.handshake.emplace(std::move(*begun));
  }
  auto stream = caller.handshake->step();
  if (!stream) return fail(stream.error());
  if (!*stream) return false;
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, (*stream)->fd(), nullptr);
  caller.handshake.reset();
  caller.stream = std::move(*stream);
  return true;
}

void Handshakes::drop(Callers::iterator caller, std::optional<Status> why) {
  crowd_.remove(caller->first, caller->second.origin);
  callers_.erase(caller);  // which closes the socket, and so ends its watch
  {
    const std::lock_guard lock(mutex_);
    if (!why) {
      failures_.count();
      return;
    }
    failures_.add(std::move(*why), Clock::now());
  }
  news_.notify_one();
}

void Handshakes::expire() {
  const auto now = Clock::now();
  for (auto next = callers_.begin(); next != callers_.end();) {
    const auto caller = next++;
    if (now >= caller->second.deadline && caller->second.has_sent) {
      drop(caller, Status(StatusCode::kDeadline, "the peer did not finish its greeting in time"));
    } else if (now >= std::min(caller->second.deadline, caller->second.first_byte_by) &&
               !caller->second.has_sent) {
      drop(caller, std::nullopt);
    }
  }
}

void Handshakes::hand_over() {
  for (auto next = callers_.begin(); next != callers_.end();) {
    const auto caller = next++;
    if (!caller->second.stream) continue;
    {
      const std::lock_guard lock(mutex_);
      if (finished_.size() >= kMaxFinished) return;
    }
    if (!greetings_->start(caller->second.stream, caller->second.origin, caller->second.deadline)) {
      continue;
    }
    crowd_.remove(caller->first, caller->second.origin);
    callers_.erase(caller);
  }
}

void Handshakes::listen_again() {
  if (!paused_until_ || Clock::now() < *paused_until_) return;
  paused_until_.reset();
  watch(events_.get(), port_.get(), EPOLLIN, kPort, EPOLL_CTL_MOD);
}

int Handshakes::patience_ms() const {
  auto until = Clock::now() + std::chrono::minutes(1);
  if (paused_until_) until = std::min(until, *paused_until_);
  bool waiting = false;
  for (const auto& [number, caller] : callers_) {
    until = std::min(until, caller.deadline);
    if (!caller.has_sent) until = std::min(until, caller.first_byte_by);
    waiting = waiting || caller.stream != nullptr;
  }
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  const auto ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  return waiting ? std::min(ms, kLookAgain_ms) : ms;
}

}  // namespace framewire::transport::session
