// Clients of a listening port from their connection to accept(): handshake and greeting.
#pragma once

#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <transport/session/crowd.hpp>
#include <transport/session/failures.hpp>
#include <transport/session/greetings.hpp>
#include <transport/session/session.hpp>
#include <transport/wire/socket.hpp>
#include <transport/wire/tls.hpp>

namespace framewire::transport::session {

/// Shakes hands with all clients side by side, on a thread of its own, whether or not accept() is
/// being called. A client that connects between two calls finds the port open, and no client waits
/// for another.
///
/// A client that has not authenticated costs a descriptor and the memory of a handshake, and no
/// thread. There are at most kMaxHalfOpen of these, kMaxOfOne from one origin; one more displaces
/// the oldest. Only age counts, so that a client cannot stay by sending a byte now and then. After
/// the handshake a client has a thread (see Greetings). At most kMaxFinished connections wait for
/// take(): while there are as many, no greeting begins, and clients wait as long as the options
/// say.
class Handshakes {
 public:
  static constexpr std::size_t kMaxHalfOpen = 256;
  static constexpr std::size_t kMaxOfOne = 128;
  static constexpr std::size_t kMaxFinished = 4;
  static constexpr std::chrono::milliseconds kFirstByte{2000};

  /// @return busy where the system has no descriptor or thread left
  [[nodiscard]] static Result<std::unique_ptr<Handshakes>> start(
      const SessionOptions& options, std::optional<wire::TlsContext> context,
      base::FileDescriptor port);
  /// Ends its threads, and every connection that was not taken.
  ~Handshakes();
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  [[nodiscard]] const base::FileDescriptor& port() const noexcept { return port_; }
  /// The next connection, or a failure of one (see Failures). @return deadline where there is none
  [[nodiscard]] Result<Joined> take(base::Clock::time_point deadline);

 private:
  struct Caller;
  using Callers = std::map<std::uint64_t, Caller>;  // the oldest first

  Handshakes(const SessionOptions& options, std::optional<wire::TlsContext> context,
             base::FileDescriptor port);
  Result<void> open();
  void run();
  void step();
  void admit();
  void advance(Callers::iterator caller);
  Result<bool> try_to_advance(Caller& caller);
  void drop(Callers::iterator caller, std::optional<Status> why);
  void expire();
  void hand_over();
  void listen_again();
  int patience_ms() const;
  void wake() const noexcept;
  void note(Greetings::Ended one) noexcept;

  SessionOptions options_;
  std::optional<wire::TlsContext> context_;
  base::FileDescriptor port_;
  base::FileDescriptor events_;  // epoll
  base::FileDescriptor wake_;    // eventfd

  // The thread's own.
  Callers callers_;
  Crowd crowd_{kMaxHalfOpen, kMaxOfOne};
  std::uint64_t next_number_ = 0;
  std::optional<base::Clock::time_point> paused_until_;

  std::mutex mutex_;
  std::condition_variable news_;
  bool stop_ = false;
  Greetings::Ended finished_;  ///< connections; failures go to `failures_`
  Failures failures_;

  std::optional<Greetings> greetings_;
  std::thread thread_;
};

}  // namespace framewire::transport::session
