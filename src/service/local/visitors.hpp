// Who has connected and not greeted yet.
#pragma once

#include <poll.h>
#include <sys/types.h>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <chrono>
#include <framewire/status.hpp>
#include <functional>
#include <ipc/greeting.hpp>
#include <vector>

namespace framewire::service::local {

/// Somebody at the other end of a socket, by the kernel's word.
struct Visitor {
  base::FileDescriptor socket;
  pid_t pid = 0;
  uid_t uid = 0;
  base::Clock::time_point deadline;
};

/// Keeps visitors until they greet, or their time is over. One thread.
class Visitors {
 public:
  /// Silent ones at a time. Of more the oldest is sent away: who means it greets at once.
  static constexpr std::size_t kMaxSilent = 64;

  /// Called for each who has greeted, or has not, and is sent away for the reason given.
  using Greeted = std::function<void(Visitor, Result<ipc::Hello>)>;

  Visitors(std::chrono::milliseconds time, Greeted greeted)
      : time_(time), greeted_(std::move(greeted)) {}

  /// Accepts who waits at a listening socket. @return false where descriptors or memory ran out
  bool accept(int listening);
  /// Adds what is to be polled.
  void add_to(std::vector<pollfd>& files) const;
  /// Reads greetings that have come; sends away whose time is over.
  void look();
  /// How long until the next one's time is over, for poll(); −1: nobody waits.
  [[nodiscard]] int wait_ms() const;
  void clear() noexcept { silent_.clear(); }

 private:
  /// @return whether the visitor is done with
  bool hear(Visitor& visitor);

  const std::chrono::milliseconds time_;
  const Greeted greeted_;
  std::vector<Visitor> silent_;  ///< oldest first
};

}  // namespace framewire::service::local
