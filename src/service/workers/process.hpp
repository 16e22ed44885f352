// A child process with a socket to it.
#pragma once

#include <sys/types.h>
#include <base/file_descriptor.hpp>
#include <framewire/status.hpp>
#include <optional>
#include <string>
#include <vector>

namespace framewire::service::workers {

/// How a process ended.
struct ProcessEnd {
  int signal = 0;  ///< 0: it ended itself
  int code = 0;    ///< then its exit code
  /// "ended by signal 11 (Segmentation fault)", "ended with exit code 3".
  [[nodiscard]] std::string to_string() const;
};

/// Owns a child: it is killed, and waited for, with this. Not thread-safe.
class WorkerProcess {
 public:
  /// Starts a program with nothing but: /dev/null as input and output, our standard error, and one
  /// end of a SOCK_SEQPACKET socket as kWorkerDescriptor. Of our environment it gets everything
  /// but FRAMEWIRE_*, which may be secrets.
  ///
  /// The calling thread must live as long as the child, which PR_SET_PDEATHSIG ends with it.
  /// @param command  program and arguments; the program is a path
  /// @return io_error, or busy where descriptors or processes ran out. Throws std::bad_alloc
  [[nodiscard]] static Result<WorkerProcess> start(const std::vector<std::string>& command);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Can be read once the process has ended.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  /// Our end of the socket, once; it does not block.
  [[nodiscard]] base::FileDescriptor take_socket() noexcept { return std::move(socket_); }
  /// Whether a signal has stopped it (SIGSTOP), and none has let it go on.
  [[nodiscard]] bool is_stopped() const noexcept;
  void kill() noexcept;
  /// Collects an ended process. Does not block. @return nothing where it has not ended
  [[nodiscard]] std::optional<ProcessEnd> collect() noexcept;

 private:
  WorkerProcess() = default;

  pid_t pid_ = -1;  ///< -1 once collected
  base::FileDescriptor pidfd_;
  base::FileDescriptor socket_;
};

}  // namespace framewire::service::workers
