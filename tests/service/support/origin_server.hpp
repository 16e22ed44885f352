// A server on loopback that answers as a script says, well or badly.
#pragma once

#include <atomic>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace framewire::service::test {

/// One connection, as a script sees it.
class Connection {
 public:
  explicit Connection(int fd, const std::atomic<bool>& ending) : fd_(fd), ending_(ending) {}

  /// The next request's head, up to its empty line; empty where the client has gone.
  [[nodiscard]] std::string read_head();
  /// False where the client has gone.
  bool send(std::string_view bytes) const;
  /// Waits until the client's side has all that was sent.
  void await_delivery() const;
  /// Waits without a word, until the client goes, the server ends, or some time has passed.
  void stall(int milliseconds) const;
  /// Whether the server still runs.
  [[nodiscard]] bool open() const { return !ending_.load(); }
  /// Ends the connection with a reset, not in order.
  void reset() const;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  const std::atomic<bool>& ending_;
  std::string rest_;
};

/// Accepts on 127.0.0.1, at a port of the system's choice; a thread for each connection.
class OriginServer {
 public:
  /// @param answer  called for each connection, on a thread of its own; the connection ends with it
  explicit OriginServer(std::function<void(Connection&)> answer);
  /// Ends all connections and waits for the scripts.
  ~OriginServer();
  OriginServer(const OriginServer&) = delete;
  OriginServer& operator=(const OriginServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int connections() const { return accepted_.load(); }

 private:
  void accept_all();

  std::function<void(Connection&)> answer_;
  base::FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<int> open_;  ///< under mutex_
  std::list<std::thread> scripts_;
  std::thread thread_;
};

/// "HTTP/1.1 200 OK", the headers given (each with its end of line), Content-Length, and the body.
[[nodiscard]] std::string ok(std::string_view body, std::string_view headers = "");
/// An answer of another status, without a body.
[[nodiscard]] std::string status(int code, std::string_view headers = "");

/// A script that reads requests and answers each with what `answer` makes of its head, until the
/// client goes.
[[nodiscard]] std::function<void(Connection&)> answering(
    std::function<std::string(const std::string& head)> answer);

}  // namespace framewire::service::test
