// Clients of a service that go on whatever becomes of it, and count what they got.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace framewire::test {

/// One request, and what has to come of it.
struct CrowdRequest {
  std::string bytes;     ///< head and body, without "Connection"
  std::string expected;  ///< the answer's body
};

/// What became of the requests of a crowd.
struct CrowdCounts {
  std::uint64_t right = 0;       ///< 200, with the body expected
  std::uint64_t wrong = 0;       ///< 200, with another body
  std::uint64_t refused = 0;     ///< another status
  std::uint64_t cut = 0;         ///< the connection ended within the answer
  std::uint64_t unanswered = 0;  ///< the connection ended before it, after the request was sent
  std::uint64_t no_server = 0;   ///< nobody took the connection
};

/// Clients over HTTP/1.1 with connections that stay, each with a thread and one request at a time.
class Crowd {
 public:
  /// @param connect   makes a connected socket; below 0 where nobody listens
  /// @param requests  asked for by turns, each client from another one on
  /// @param retries   whether a client goes on after a connection has ended without an answer, or
  ///                  was not taken, until stop(); else it ends then
  Crowd(std::function<int()> connect, std::vector<CrowdRequest> requests, int clients,
        bool retries);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Waits until so many more requests have been answered rightly. @return false after a minute
  [[nodiscard]] bool answered(std::uint64_t more) const;
  /// Waits until no client goes on by itself. @return false after the time
  [[nodiscard]] bool ended_within(std::chrono::milliseconds time) const;
  /// Ends all clients, each after the answer that it waits for.
  [[nodiscard]] CrowdCounts stop();
  /// The first answer that was not right; for messages.
  [[nodiscard]] const std::string& first_fault() const { return fault_; }

 private:
  /// What an answer leaves of its connection.
  enum class After : std::uint8_t { kOpen, kClosed, kLost };

  void run(std::size_t client);
  After ask(int fd, const CrowdRequest& request);
  void note_fault(std::string text);

  const std::function<int()> connect_;
  const std::vector<CrowdRequest> requests_;
  const bool retries_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> going_{0};
  std::atomic<std::uint64_t> right_{0}, wrong_{0}, refused_{0}, cut_{0}, unanswered_{0};
  std::atomic<std::uint64_t> no_server_{0};
  std::atomic<bool> has_fault_{false};
  std::string fault_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::test
