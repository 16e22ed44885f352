#include <fcntl.h>
#include <sys/socket.h>
#include <algorithm>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <base/start_thread.hpp>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <transport/session/greeting.hpp>
#include <transport/session/greetings.hpp>
#include <utility>

namespace framewire::transport::session {
namespace {

using base::Clock;

// An honest greeting over the slowest links takes less; only where others wait is it cut after.
constexpr std::chrono::milliseconds kPatience{500};

Result<Joined> greet(std::unique_ptr<wire::ByteStream> stream, const SessionOptions& options,
                     Clock::time_point deadline) noexcept {
  try {
    return greet_as_server(std::move(stream), options, deadline);
  } catch (const std::exception&) {
    return fail(StatusCode::kBusy, "memory ran out");  // short enough for the string itself
  }
}

}  // namespace

struct Greetings::Greeting {
  std::string origin;
  Clock::time_point since = Clock::now();
  // The stream's socket once more: that one may be closed at any time.
  base::FileDescriptor connection;
  std::thread thread;

  // Either it is cut or its connection is handed on, never both.
  enum class State : std::uint8_t { kRunning, kCut, kEnded };
  std::atomic<State> state{State::kRunning};

  void cut() noexcept {
    State running = State::kRunning;
    if (state.compare_exchange_strong(running, State::kCut)) {
      ::shutdown(connection.get(), SHUT_RDWR);
    }
  }
  /// @return whether it had not been cut
  bool end() noexcept { return state.exchange(State::kEnded) == State::kRunning; }
};

Greetings::Greetings(const SessionOptions& options, std::function<void(Ended)> ended)
    : options_(options), ended_(std::move(ended)) {}

Greetings::~Greetings() {
  for (const auto& greeting : running_) greeting->cut();
  for (const auto& greeting : running_) greeting->thread.join();
}

bool Greetings::start(std::unique_ptr<wire::ByteStream>& stream, const std::string& origin,
                      Clock::time_point deadline) noexcept try {
  const auto of_one = std::count_if(running_.begin(), running_.end(),
                                    [&](const auto& other) { return other->origin == origin; });
  const bool own_fill = static_cast<std::size_t>(of_one) >= kMaxOfOne;
  if (own_fill || running_.size() >= kMax) {
    make_room(origin, own_fill);
    return false;
  }
  return begin(stream, origin, deadline).has_value();
} catch (const std::bad_alloc&) {
  return false;
}

Result<void> Greetings::begin(std::unique_ptr<wire::ByteStream>& stream, const std::string& origin,
                              Clock::time_point deadline) {
  std::list<std::unique_ptr<Greeting>> one;
  one.push_back(std::make_unique<Greeting>());
  Greeting* const here = one.front().get();
  here->origin = origin;
  here->connection = base::FileDescriptor(::fcntl(stream->fd(), F_DUPFD_CLOEXEC, 0));
  if (!here->connection.valid()) return fail(StatusCode::kBusy, "no descriptor is left");
  // What the thread tells has its memory before there is a thread.
  Ended told;
  told.push_back(fail(StatusCode::kDeadline, "the greeting gave way to others"));
  auto thread = base::start_thread(
      "fw-greet", [this, here, deadline, taken = stream.get(), told = std::move(told)]() mutable {
        auto result = greet(std::unique_ptr<wire::ByteStream>(taken), options_, deadline);
        // Before anybody is told who would look.
        if (here->end()) told.front() = std::move(result);
        ended_(std::move(told));
      });
  if (!thread) return fail(std::move(thread.error()));
  static_cast<void>(stream.release());  // the thread's
  here->thread = std::move(*thread);
  running_.splice(running_.end(), one);
  return {};
}

void Greetings::make_room(const std::string& origin, bool of_its_own) {
  const auto before = Clock::now() - kPatience;
  for (const auto& greeting : running_) {
    if (greeting->state != Greeting::State::kRunning ||
        (of_its_own && greeting->origin != origin)) {
      continue;
    }
    if (greeting->since < before) greeting->cut();
    return;
  }
}

void Greetings::reap() {
  running_.remove_if([](const auto& greeting) {
    if (greeting->state != Greeting::State::kEnded) return false;
    greeting->thread.join();
    return true;
  });
}

}  // namespace framewire::transport::session
