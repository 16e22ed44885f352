// The processes of one measurement, started, watched and ended together.
#pragma once

#include <atomic>
#include <base/clock.hpp>
#include <report/json.hpp>
#include <service/process/child.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::app::bench_serve {

/// Set by ^C; whoever waits gives up with `cancelled`.
extern std::atomic<bool> g_interrupted;

/// Processes in a fixed order, servers and clients. What they write to standard error is read all
/// the time, and its end is kept. Destroying kills those that still run. Not thread-safe.
class Processes {
 public:
  /// Starts one more. @param name  for messages: "server 2"
  /// @param first_line  goes to its standard input, which stays open; empty: it has none
  [[nodiscard]] Result<void> start(std::string name, std::vector<std::string> words,
                                   const service::process::Environment& environment,
                                   const std::string& first_line);

  [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
  [[nodiscard]] pid_t pid(std::size_t number) const { return all_[number].child.pid(); }

  /// Waits for a line of output of each from `first` on. @return those lines. peer_lost, with what
  /// it wrote to standard error, where one of all has ended before; deadline; cancelled
  [[nodiscard]] Result<std::vector<std::string>> read_lines(std::size_t first,
                                                            base::Clock::time_point until);
  /// Reads what they say until then. @return as read_lines(), where one ends meanwhile
  [[nodiscard]] Result<void> watch(base::Clock::time_point until);
  /// Writes a line to each from `first` on. Lines are short: it does not block.
  void tell(std::size_t first, const std::string& line);
  /// Sends SIGTERM to those before `last`, and kills what has not ended after the grace.
  void end(std::size_t last, std::chrono::seconds grace);

 private:
  struct One {
    std::string name;
    service::process::Child child;
    std::string output;
    std::string errors;
    std::string input;  ///< not yet written
  };

  void pump(base::Clock::time_point until);
  static void feed(One& one);
  [[nodiscard]] static bool lacks_line(const One& one);
  /// @param awaited  it may end once it has said a line
  [[nodiscard]] static Result<void> check(One& one, bool awaited);

  std::vector<One> all_;
};

/// Processor time of a process until now, seconds; 0 where it cannot be read.
[[nodiscard]] double processor_seconds(pid_t pid);

}  // namespace framewire::app::bench_serve
