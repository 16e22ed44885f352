#include <fcntl.h>
#include <sys/socket.h>
#include <algorithm>
#include <atomic>
#include <base/file_descriptor.hpp>
#include <chrono>
#include <exception>
#include <system_error>
#include <transport/session/greeting.hpp>
#include <transport/session/greetings.hpp>
#include <transport/session/quiet_thread.hpp>
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
    return fail(StatusCode::kBusy, "no memory for a connection");
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

Greetings::Greetings(const SessionOptions& options, std::function<void(Result<Joined>)> ended)
    : options_(options), ended_(std::move(ended)) {}

Greetings::~Greetings() {
  for (const auto& greeting : running_) greeting->cut();
  for (const auto& greeting : running_) greeting->thread.join();
}

bool Greetings::start(std::unique_ptr<wire::ByteStream>& stream, const std::string& origin,
                      Clock::time_point deadline) {
  const auto of_one = std::count_if(running_.begin(), running_.end(),
                                    [&](const auto& other) { return other->origin == origin; });
  const bool own_fill = static_cast<std::size_t>(of_one) >= kMaxOfOne;
  if (own_fill || running_.size() >= kMax) {
    make_room(origin, own_fill);
    return false;
  }
  auto greeting = std::make_unique<Greeting>();
  greeting->origin = origin;
  greeting->connection = base::FileDescriptor(::fcntl(stream->fd(), F_DUPFD_CLOEXEC, 0));
  if (!greeting->connection.valid()) return false;
  Greeting* const here = greeting.get();
  running_.push_back(std::move(greeting));
  try {
    here->thread = quiet_thread("fw-greet", [this, here, deadline, taken = stream.get()] {
      auto result = greet(std::unique_ptr<wire::ByteStream>(taken), options_, deadline);
      // Before anybody is told who would look.
      if (!here->end()) result = fail(StatusCode::kDeadline, "the greeting gave way to others");
      ended_(std::move(result));
    });
  } catch (const std::system_error&) {
    running_.pop_back();  // no thread to be had: later
    return false;
  }
  static_cast<void>(stream.release());  // the thread's
  return true;
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
