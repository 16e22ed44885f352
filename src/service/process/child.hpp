// A process that we start, watch, and end.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <base/clock.hpp>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace framewire::service::process {

/// Changes to the environment: names with their values; nothing takes a name away.
using Environment = std::vector<std::pair<std::string, std::optional<std::string>>>;

struct ChildOptions {
  std::vector<std::string> words;  ///< the program's path, then its arguments
  Environment environment;         ///< on top of ours
  bool input = false;              ///< we write its standard input; otherwise that is empty
  bool output = false;             ///< we read its standard output; otherwise that is thrown away
  bool errors = false;             ///< we read its standard error; likewise
  /// Goes on when this process ends. Otherwise the kernel kills it with the thread that started it.
  bool outlives_us = false;
};

/// How a process ended.
struct Ending {
  int exit_code = -1;  ///< −1: by a signal
  int signal = 0;      ///< 0: by itself
  [[nodiscard]] bool succeeded() const noexcept { return exit_code == 0; }
  /// "exit code 3", "signal 9".
  [[nodiscard]] std::string to_string() const;
};

/// Owns a process, which leads a group of its own, so that no terminal's ^C reaches it. Destroying
/// kills what still runs. Thread safety: as a unique_ptr.
class Child {
 public:
  /// @return io_error where there is no such program or the system refuses; busy where processes,
  ///         descriptors or memory ran out
  [[nodiscard]] static Result<Child> start(const ChildOptions& options);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Becomes readable when the process ends.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  /// Our ends of its pipes, none where none was asked for. Non-blocking; the caller may close them.
  [[nodiscard]] base::FileDescriptor& input() noexcept { return input_; }
  [[nodiscard]] base::FileDescriptor& output() noexcept { return output_; }
  [[nodiscard]] base::FileDescriptor& errors() noexcept { return errors_; }

  /// How it ended; nothing while it runs. Does not block.
  [[nodiscard]] std::optional<Ending> ending() noexcept;
  /// As ending(), but waits until then.
  [[nodiscard]] std::optional<Ending> wait(base::Clock::time_point until) noexcept;
  /// Nothing where it has ended.
  void signal(int number) noexcept;
  /// Kills its whole group, and waits for the process. Nothing where it has ended.
  void kill() noexcept;

 private:
  Child() = default;

  pid_t pid_ = -1;
  base::FileDescriptor pidfd_;
  base::FileDescriptor input_;
  base::FileDescriptor output_;
  base::FileDescriptor errors_;
  std::optional<Ending> ending_;
};

}  // namespace framewire::service::process
