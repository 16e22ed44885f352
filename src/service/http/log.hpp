// Lines of JSON about requests, written by a thread of their own: no socket waits for a terminal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <framewire/status.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace framewire::service::http {

/// Takes whole lines, each with its end. Called from one thread; may block.
using LogSink = std::function<void(std::string_view)>;

/// What is told of one request. Views live as long as the call.
struct RequestLine {
  std::string_view request_id;
  std::string_view client;
  std::string_view method;
  std::string_view target;  ///< as sent; shortened to 512 bytes
  int status = 0;
  std::uint64_t bytes_in = 0;   ///< of the body
  std::uint64_t bytes_out = 0;  ///< of the body
  double ms = 0;
  std::string_view codec;    ///< empty where no picture was made
  std::string_view message;  ///< of an error; may be empty
};

[[nodiscard]] std::string to_json(const RequestLine& line, std::int64_t unix_ms);

/// The time as all lines have it: "2026-01-31T12:34:56.789Z".
[[nodiscard]] std::string log_time();

/// Collects lines and writes them. Where the sink is slower than lines come, up to a megabyte
/// waits; further lines are dropped and counted, and the count is told in a line of its own.
/// Thread safety: write() from any thread; takes a lock.
class Log {
 public:
  /// @param sink  may be empty: nothing is written then
  explicit Log(LogSink sink) : sink_(std::move(sink)) {}
  /// Writes what waits, then ends.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Starts the thread that writes; until then lines wait. @return busy where there is none
  [[nodiscard]] Result<void> start();

  void write(const RequestLine& line) noexcept;
  /// A line of somebody else's making, with its end.
  void write(std::string line) noexcept;
  /// {"time", "level", "message"}.
  void say(std::string_view level, std::string_view message) noexcept;

 private:
  void add(std::string line);
  void run();

  const LogSink sink_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::string waiting_;
  std::uint64_t dropped_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace framewire::service::http
