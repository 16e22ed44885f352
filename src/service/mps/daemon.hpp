// The daemon of NVIDIA's Multi-Process Service: several processes' work on one GPU at a time.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <framewire/status.hpp>
#include <memory>
#include <service/process/child.hpp>
#include <span>
#include <string>
#include <vector>

namespace framewire::service::mps {

struct DaemonOptions {
  std::string program;                        ///< nvidia-cuda-mps-control; empty: looked for
  std::chrono::milliseconds timeout{10'000};  ///< of each command
};

/// What one client gets of each GPU. The driver reads both when the client makes its context.
struct Share {
  /// The share of the multiprocessors' threads, 1 to 100; 0: as the daemon says.
  unsigned threads_percent = 0;
  std::uint64_t memory_bytes = 0;  ///< rounded down to MiB; 0: no bound
};

/// One that we have started, in folders of its own, or one that was running already. Order of life:
/// start, set environment() for processes that are to be clients, end those, end().
///
/// What is started here ends with this object, and also when this process is killed: a shell waits
/// for that and says `quit`. SIGPIPE must be ignored. Thread safety: the const members may be
/// called from any number of threads at once.
class Daemon {
 public:
  /// Starts one. Its pipes and logs lie in a new folder that nobody else may enter, below
  /// XDG_RUNTIME_DIR or /tmp. Blocks until it answers.
  /// @return unsupported where there is no such program; io_error with what it said; deadline
  [[nodiscard]] static Result<Daemon> start(const DaemonOptions& options = {});
  /// Uses one that runs. @param folder  of its pipes; empty: that of CUDA_MPS_PIPE_DIRECTORY, or
  /// CUDA's default. @return unsupported where there is no such program; peer_lost where no daemon
  /// answers there; io_error, deadline
  [[nodiscard]] static Result<Daemon> attach(const DaemonOptions& options = {},
                                             const std::string& folder = {});
  /// As end() with no time to spare.
  ~Daemon();
  Daemon(Daemon&&) noexcept;
  Daemon& operator=(Daemon&&) = delete;

  /// What makes a process a client of this daemon. @param devices  ordinals of CUDA's that the
  /// bound on memory is for
  [[nodiscard]] process::Environment environment(const Share& share = {},
                                                 std::span<const int> devices = {}) const;
  /// What keeps a process from every daemon. @param empty_folder  exists, and has no pipes in it
  [[nodiscard]] static process::Environment no_daemon(const std::string& empty_folder);

  [[nodiscard]] const std::string& folder() const noexcept;  ///< of its pipes
  [[nodiscard]] bool started_here() const noexcept;
  /// Processes of its servers: one for each user who has clients. Blocks; asks the daemon.
  /// @return peer_lost, io_error, deadline
  [[nodiscard]] Result<std::vector<pid_t>> servers() const;
  /// Processes that use it. Blocks; asks the daemon. @return as servers()
  [[nodiscard]] Result<std::vector<pid_t>> clients() const;
  /// Clients by device, as the daemon words it. @return as servers()
  [[nodiscard]] Result<std::string> device_clients() const;
  /// Whether the daemon's process is still there, by the kernel's word. Does not block. Its clients
  /// go on without it until they end; new ones do without MPS.
  /// @return peer_lost where it has gone
  [[nodiscard]] Result<void> alive() const;
  /// Becomes readable when the daemon's process ends.
  [[nodiscard]] int pidfd() const noexcept;

  /// Says `quit`, waits until the daemon and its servers are gone, and kills those of them that are
  /// not: clients should have ended before. Leaves a daemon alone that was not started here. A
  /// second call does nothing.
  /// @param grace  that its clients have to end by themselves, whole seconds
  /// @return deadline where a process could not be ended; what the daemon said, after it was killed
  Result<void> end(std::chrono::seconds grace);

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire::service::mps
