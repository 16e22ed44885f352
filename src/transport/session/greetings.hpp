// Greetings under way, each on a thread of its own.
#pragma once

#include <base/clock.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <transport/session/session.hpp>
#include <transport/wire/stream.hpp>

namespace framewire::transport::session {

/// A greeting blocks on the peer, or on a fabric, so each has a thread. Only clients that have
/// authenticated have one, or, where no authentication is asked for, those that have sent a whole
/// first message. One thread at a time.
class Greetings {
 public:
  static constexpr std::size_t kMax = 32;
  static constexpr std::size_t kMaxOfOne = 8;  ///< from one origin

  /// A list of one: whoever keeps it splices it, which takes no memory.
  using Ended = std::list<Result<Joined>>;

  /// @param ended  called by a greeting's thread with its result; must not throw
  Greetings(const SessionOptions& options, std::function<void(Ended)> ended);
  /// Cuts the connections of those that have not ended, and waits for their threads.
  ~Greetings();
  Greetings(const Greetings&) = delete;
  Greetings& operator=(const Greetings&) = delete;

  /// Takes the stream if there is room. If not, and the greeting in the way has had its time, its
  /// connection is cut, so that there will be.
  /// @return whether it has taken the stream; false, too, where there is no thread, descriptor or
  ///         memory left
  bool start(std::unique_ptr<wire::ByteStream>& stream, const std::string& origin,
             base::Clock::time_point deadline) noexcept;
  /// Lets go of those that have ended.
  void reap();

 private:
  struct Greeting;
  void make_room(const std::string& origin, bool of_its_own);
  [[nodiscard]] Result<void> begin(std::unique_ptr<wire::ByteStream>& stream,
                                   const std::string& origin, base::Clock::time_point deadline);

  const SessionOptions& options_;
  std::function<void(Ended)> ended_;
  std::list<std::unique_ptr<Greeting>> running_;  // the oldest first
};

}  // namespace framewire::transport::session
